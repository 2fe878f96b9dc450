"""Cells of an evaluation survive it, and only for the same question."""

import pytest

from becalm.errors import MachineError
from becalm.store.timer_cells import TimerCells

ASKED = {"filter": "robust", "seed": 1}


def test_stored_cells_are_read_only_for_the_same_question(tmp_path):
    cells = TimerCells(tmp_path / "clock.jsonl")
    assert cells.read(ASKED) == []
    cells.begin(ASKED)
    cells.add({"event": "cell", "timer": "barrier"})
    assert cells.read(ASKED) == [{"event": "cell", "timer": "barrier"}]
    assert cells.read({**ASKED, "seed": 2}) == []
    cells.begin({**ASKED, "seed": 2})
    assert cells.read(ASKED) == []


def test_a_line_that_was_cut_off_is_not_read(tmp_path):
    cells = TimerCells(tmp_path / "clock.jsonl")
    cells.begin(ASKED)
    cells.add({"event": "trust"})
    with cells.path.open("a") as file:
        file.write('{"event": "cell", "tim\xff')
    assert cells.read(ASKED) == [{"event": "trust"}]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(MachineError, match=r"clock\.jsonl cannot be written"):
        TimerCells(tmp_path / "nowhere" / "clock.jsonl").begin(ASKED)
