"""The bench of gates: its plan has every kind equally often, and its tables count right and wrong answers."""

from collections import Counter
from pathlib import Path

import pytest

import gates
from loop import Loop


def record(code, *, limit=0.02, busy=False, difference=0.0, program="loop"):
    return {"program": program, "limit": limit, "busy": busy, "difference": difference, "code": code, "wall_s": 1.5,
            "estimate": 0.0, "pairs": 9, "load": 0.1}  # fmt: skip


def test_every_kind_of_check_is_planned_equally_often():
    plan = gates.schedule(["loop", "gzip"], 48, seed=1)
    assert {*Counter(plan).values()} == {2}
    assert len({*plan}) == 24
    assert plan == gates.schedule(["loop", "gzip"], 48, seed=1) != gates.schedule(["loop", "gzip"], 48, seed=2)


def test_the_tables_count_alarms_finds_and_what_is_undecided():
    records = [record(0), record(1), record(5), record(1, difference=0.03), record(0, difference=0.03)]
    first, last = (gates.summary(records).splitlines()[row].split("|") for row in (2, -1))
    assert first[1].strip() == "2 %, alone"
    for cells in (first, last):
        assert [cell.strip().partition(":")[0] for cell in cells[2:6]] == ["1 of 3", "1 of 2", "1 of 2", "1 of 5"]
        assert cells[6].strip() == "1.5 s"
    assert [gates.is_bad(record) for record in records] == [False, True, False, False, True]


def test_the_second_build_does_as_much_more_work_as_the_difference_needs():
    program = gates.Program("half", 1000, lambda steps: ["run", str(steps)], steps=2000.0)
    assert program.builds(0.01) == (["run", "1000"], ["run", "1020"])
    assert program.builds(0.0) == (["run", "1000"], ["run", "1000"])


def test_a_real_program_is_preceded_by_steps_of_the_loop():
    loop = Loop(Path("/b/loop"))
    before, after = (gates.with_steps(loop, ["sort", "a b"], steps) for steps in (0, 7))
    assert before[:2] == ["sh", "-c"]
    assert before[3:] == ["/b/loop", "000000000000", "sort", "a b"]
    assert after[3:] == ["/b/loop", "000000000007", "sort", "a b"]


@pytest.mark.parametrize("name", ["gzip", "sort", "python", "cc", "sqlite"])
def test_real_programs_take_their_work_from_the_command(name, tmp_path):
    _, command = gates.commands(tmp_path)[name]
    assert command(20) != command(30)
