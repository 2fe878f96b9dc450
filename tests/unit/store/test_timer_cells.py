"""Cells of an evaluation survive it, and only for the same question."""

import pytest

from becalm.errors import MachineError
from becalm.store.timer_cells import TimerCells

ASKED = {"filter": "robust", "seed": 1}


def test_what_was_kept_is_read_for_the_same_question_alone(tmp_path):
    kept = TimerCells(tmp_path / "clock.jsonl")
    assert kept.read(ASKED) == []
    kept.begin(ASKED)
    kept.add({"event": "cell", "timer": "barrier"})
    assert kept.read(ASKED) == [{"event": "cell", "timer": "barrier"}]
    assert kept.read({**ASKED, "seed": 2}) == []
    kept.begin({**ASKED, "seed": 2})
    assert kept.read(ASKED) == []


def test_a_line_that_was_cut_off_is_not_read(tmp_path):
    kept = TimerCells(tmp_path / "clock.jsonl")
    kept.begin(ASKED)
    kept.add({"event": "trust"})
    with kept.path.open("a") as file:
        file.write('{"event": "cell", "tim\xff')
    assert kept.read(ASKED) == [{"event": "trust"}]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(MachineError, match=r"clock\.jsonl cannot be written"):
        TimerCells(tmp_path / "nowhere" / "clock.jsonl").begin(ASKED)
