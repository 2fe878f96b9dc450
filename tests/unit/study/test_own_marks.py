"""Built-in programs are recorded with the marks that they set."""

from pathlib import Path

import pytest

from becalm.errors import UsageError
from becalm.study import own_marks


def test_a_kernel_that_marks_its_work_writes_them_into_a_file():
    program = own_marks.program(["kernel:matrixmult:n=30"], "local")
    flag, path = program.workload.argv[-2:]
    assert flag == "--marks"
    Path(path).write_text("mark 1000\nmark 3000\n")
    marks = list(program.marks([{"task": 3}, {"task": 7}], 7))
    assert [mark["program"] for mark in marks] == [1, 1]
    # Moved by how far the two clocks are apart.
    assert marks[1]["time_ns"] - marks[0]["time_ns"] == pytest.approx(2_000, abs=1)
    assert not Path(path).parent.exists()
    assert list(own_marks.program("kernel:matrixmult", "local").marks([], None)) == []


def test_other_programs_are_left_as_they_are():
    assert own_marks.program(["gzip", "-9"], "local").workload.argv == ("gzip", "-9")
    assert own_marks.program("gzip -9", "local").folder is None
    assert own_marks.program(["kernel:triad"], "local").folder is None
    assert own_marks.program(["kernel:matrixmult"], "ssh://lab").folder is None
    with pytest.raises(UsageError, match="no built-in kernel"):
        own_marks.program(["kernel:nothing"], "local")
