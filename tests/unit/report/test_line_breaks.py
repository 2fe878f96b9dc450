"""Line breaks of reports on a terminal, and line ends in a pipe."""

import io

import pytest
from rich.table import Table
from rich.text import Text

from becalm.report.line_breaks import Path
from becalm.report.terminal import Screen


def lines(renderable, width: int) -> list[str]:
    screen = Screen(file=io.StringIO(), width=width)
    screen.print(renderable)
    return screen.file.getvalue().splitlines()


@pytest.mark.parametrize("quantity", ["95 %", "±0.5 %", "1.5 ms", "12 µs", "3 min", "2.4 GHz", "16 KiB", "65 W"])
def test_numbers_stay_with_their_units(quantity):
    for width in range(len(quantity), 40):
        broken = lines(Text(f"It took {quantity} of the time."), width)
        assert any(quantity in line for line in broken)


def test_numbers_stay_with_their_units_in_tables():
    table = Table(box=None)
    table.add_column()
    table.add_row("a share of 95 %")
    assert lines(table, 14)[-1].strip() == "95 %"


def test_other_words_after_numbers_may_be_on_the_next_line():
    assert lines(Text("5 runs"), 4) == ["5", "runs"]


def test_paths_break_after_slashes():
    assert lines(Path("/sys/devices/system/cpu/cpu0/online"), 20) == ["/sys/devices/system/", "cpu/cpu0/online"]


@pytest.mark.parametrize("path", ["", "/", "a", "a//b/", "/very-long-component"])
def test_paths_keep_all_their_characters(path):
    assert "".join(lines(Path(path), 8)) == path


def test_lines_in_a_pipe_do_not_end_with_spaces():
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("name")
    table.add_column("value")
    table.add_row("a", "long value")
    table.add_row("b", "")
    assert lines(table, 40) == ["name  value", "a     long value", "b"]
