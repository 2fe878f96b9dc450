"""Pictures of sweet spots: a curve a program with gaps where nothing is known, and marks only of what was found."""

import re

from becalm.migration.sweetspots import Spotted
from becalm.report import sweetspots
from becalm.report.sweetspots_figures import MOST, curves

KNOWN = 1
MS = 1_000_000


def spotted(windows, *, programs=1, spots=(), states=(), migrations=(), unit="ns"):
    seen = [{"task": 10 + number, "process": 1, "own": [100, 10], "ended": False} for number in range(programs)]
    content = {
        "programs": seen, "windows": windows, "spots": list(spots), "states": list(states), "marks": [],
        "migrations": list(migrations), "from_ns": 0, "until_ns": 10 * MS, "counted": [len(windows), 0],
        "question": {"rules": {"window_ns": MS}},
    }  # fmt: skip
    return Spotted("records", "references and misses", unit, "rise", content, "A sentence.")


def window(program, at, references, misses, marks=KNOWN):
    return [program, at * MS, (at + 1) * MS, references, misses, 0, 0, marks]


def lines(picture):
    """Return the curves of a picture: paths that are clipped to the axes and have no fill."""
    return re.findall(r'<path d="[^"]*" clip-path="[^"]*" style="fill: none; stroke: var\(--before\)', picture)


def test_windows_that_are_not_known_or_read_nothing_are_gaps():
    whole = [window(0, at, 100, at) for at in range(4)]
    (picture,) = curves(spotted(whole))
    assert len(lines(picture.svg)) == 1
    assert "Task 10" in picture.caption
    (picture,) = curves(spotted([*whole[:1], window(0, 1, 100, 50, marks=0), whole[2], window(0, 3, 0, 0), whole[3]]))
    assert len(lines(picture.svg)) == 3
    assert list(curves(spotted([window(0, 0, 100, 1, marks=0)]))) == []


def test_marks_are_of_the_program_and_named():
    spots = [{"program": 0, "kind": 1, "time_ns": 2 * MS, "counts": [10, 5]}]
    moved = [{"program": 1, "time_ns": 3 * MS, "from": 0, "to": 1, "excess_misses": None, "error": None}]
    both = [window(program, at, 100, 5) for program in (0, 1) for at in range(4)]
    first, second = curves(spotted(both, programs=2, spots=spots, migrations=moved))
    assert "its working set changes" in first.svg
    assert "moved" not in first.svg
    assert "moved" in second.svg
    assert "its working set changes" not in second.svg


def test_a_page_has_a_picture_for_each_of_the_first_programs_and_every_table():
    many = [window(program, 0, 100, 5) for program in range(MOST + 2)]
    spots = [{"program": 0, "kind": 2, "time_ns": 2 * MS, "counts": [10, 5]}]
    page = sweetspots.as_html(spotted(many, programs=MOST + 2, spots=spots, unit="instructions"))
    assert page.count("<svg") == MOST
    assert f"The first {MOST} of {MOST + 2} programs." in page
    assert "it is evicted while it waits" in page
    assert "A sentence." in page


def test_lines_of_the_terminal_say_what_they_show_in_the_source_s_unit():
    drawn = sweetspots.as_markdown(spotted([window(0, 0, 100, 1)]))
    assert "over 10.00 ms; one line per task" in drawn
    assert "over 10,000,000 instructions; one line" in sweetspots.as_markdown(spotted([], unit="instructions"))
