"""Groups of two rounds, in turns or at once."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from tests.unit.plans.test_history import row

from becalm.nouns.run import Block
from becalm.nouns.stopping_rule import StoppingRule
from becalm.plans.groups import Groups
from becalm.plans.history import History
from becalm.plans.schedule import BackToTurns, Schedule

CPUS = (2, 5)


def advance(history: History, block: Block, wall_ns: int = 1_000_000) -> None:
    start = history.last_ended_ns or 0
    history.extend(
        row(history.next_seq + index, step.workload, step.round, wall_ns, started_ns=start + index * wall_ns)
        for index, step in enumerate(block.steps)
    )


def planned(schedule: Schedule, rounds: int, seed: int = 1, programs: int = 2) -> tuple[Groups, list[Block]]:
    history, goal = History(programs), StoppingRule(runs=rounds)
    groups, blocks = Groups(schedule, CPUS, np.random.default_rng(seed), programs), []
    while not goal.exhausted(history):
        blocks.append(groups.block(history, goal))
        advance(history, blocks[-1])
    return groups, blocks


def test_a_warm_up_and_the_first_round_are_in_turns_and_where_the_kernel_likes() -> None:
    _, blocks = planned(Schedule.AUTO, 40)
    assert [[step.round for step in block.steps] for block in blocks[:2]] == [[-1, -1], [0, 0]]
    assert [block.starts for block in blocks[:2]] == [(), ()]


def test_at_once_the_programs_start_together_and_change_places() -> None:
    groups, blocks = planned(Schedule.AT_ONCE, 200)
    runs = [run for block in blocks[2:] for run in zip(block.steps, block.starts, strict=True)]
    drawn = set()
    for place in range(0, len(runs), 4):
        first, second = runs[place : place + 2], runs[place + 2 : place + 4]
        number = first[0][0].round
        if not groups.is_at_once(number):
            continue
        for pair in (first, second):
            assert [step.workload for step, _ in pair] == [0, 1]
            assert [start.with_next for _, start in pair] == [True, False]
        cpus = [start.cpu for _, start in first]
        assert sorted(cpus) == [2, 5]
        assert [start.cpu for _, start in second] == cpus[::-1]
        assert cpus[1] == CPUS[groups.parts[number // 2][0][0].side]
        drawn.add(cpus[0])
    assert drawn == {2, 5}, "a coin draws the CPU"


def test_groups_in_turns_use_the_cpus_alternately_and_random_order() -> None:
    groups, blocks = planned(Schedule.AUTO, 200)
    turns = [
        (step, start)
        for block in blocks[2:]
        for step, start in zip(block.steps, block.starts, strict=True)
        if not groups.is_at_once(step.round)
    ]
    assert not any(start.with_next for _, start in turns)
    cpus = [[start.cpu for _, start in turns[place : place + 4]] for place in range(0, len(turns), 4)]
    assert cpus == [[CPUS[(place + 1) % 2]] * 4 for place in range(len(cpus))]
    assert {turns[place][0].workload for place in range(0, len(turns), 2)} == {0, 1}


def test_the_pilot_has_as_many_groups_of_both_schedules() -> None:
    groups, _ = planned(Schedule.AUTO, 201)
    kinds = groups.at_once[1:]
    assert len(kinds) == 100
    assert all(kinds[place] != kinds[place + 1] for place in range(0, 100, 2))
    assert 10 < sum(kinds[::2]) < 40, "in random order"


def test_rounds_have_both_programs_and_one_padding() -> None:
    _, blocks = planned(Schedule.AUTO, 100)
    steps = [step for block in blocks for step in block.steps]
    for first, second in zip(steps[::2], steps[1::2], strict=True):
        assert first.round == second.round
        assert first.padding == second.padding
        assert {first.workload, second.workload} == {0, 1}


def test_a_seed_gives_the_same_groups_however_they_are_divided_into_blocks() -> None:
    def steps(wall_ns: int) -> list[tuple[object, ...]]:
        history, goal = History(2), StoppingRule(runs=60)
        groups, runs = Groups(Schedule.AUTO, CPUS, np.random.default_rng(4)), []
        while not goal.exhausted(history):
            block = groups.block(history, goal)
            runs += [(step, block.starts[index : index + 1]) for index, step in enumerate(block.steps)]
            advance(history, block, wall_ns)
        return runs

    assert steps(10**9)[:60] == steps(10**6)[:60]


@pytest.mark.parametrize("back", list(BackToTurns))
def test_a_study_that_went_back_is_as_any_in_turns(back: BackToTurns) -> None:
    history, goal = History(2), StoppingRule(runs=400)
    groups = Groups(Schedule.AUTO, CPUS, np.random.default_rng(5))
    for _ in range(3):
        advance(history, groups.block(history, goal))
    groups.choice.back = back
    block = groups.block(history, goal)
    assert block.starts == ()
    assert not any(groups.is_at_once(step.round) for step in block.steps)


def rounds_of(blocks: list[Block]) -> dict[int, list[tuple[int, int, bool]]]:
    """Return the program, CPU and `with_next` of each run, by round, of blocks with starts."""
    rounds: dict[int, list[tuple[int, int, bool]]] = {}
    for block in blocks:
        for step, start in zip(block.steps, block.starts, strict=False):
            rounds.setdefault(step.round, []).append((step.workload, start.cpu, start.with_next))
    return rounds


@pytest.mark.parametrize(("programs", "size"), [(2, 2), (3, 6), (4, 6), (5, 10)])
def test_a_group_at_once_is_a_tournament(programs: int, size: int) -> None:
    groups, blocks = planned(Schedule.AT_ONCE, 30 * size, programs=programs)
    assert groups.size == size
    rounds = rounds_of(blocks[2:])
    for group in (number for number, at_once in enumerate(groups.at_once) if at_once):
        met: Counter[tuple[int, int]] = Counter()
        for number in range(group * size, (group + 1) * size):
            runs = rounds[number]
            assert sorted(program for program, _, _ in runs) == list(range(programs)), "each program once"
            pairs = [(runs[at], runs[at + 1]) for at in range(len(runs)) if runs[at][2]]
            assert len(pairs) == programs // 2
            for first, second in pairs:
                assert {first[1], second[1]} == set(CPUS), "each on a CPU of its own"
                met[first[0], second[0]] += 1
        assert met == dict.fromkeys(combinations(range(programs), 2), 2), "each pair in two rounds"


@pytest.mark.parametrize("programs", [3, 4, 5])
def test_programs_of_a_part_change_places(programs: int) -> None:
    groups, blocks = planned(Schedule.AT_ONCE, 200, programs=programs)
    rounds = rounds_of(blocks[2:])
    for group in (number for number, at_once in enumerate(groups.at_once) if at_once):
        for first in range(group * groups.size, (group + 1) * groups.size, 2):
            before, after = rounds[first], rounds[first + 1]
            assert [program for program, _, _ in before] == [program for program, _, _ in after]
            assert [cpu for _, cpu, _ in before] == [7 - cpu for _, cpu, _ in after]


def test_a_group_in_turns_is_as_long_as_a_tournament() -> None:
    groups, blocks = planned(Schedule.AUTO, 300, programs=4)
    rounds = rounds_of(blocks[2:])
    turns = [number for number in rounds if not groups.is_at_once(number)]
    assert turns
    for number in turns:
        assert len({cpu for _, cpu, _ in rounds[number]}) == 1
        assert not any(with_next for _, _, with_next in rounds[number])
        assert rounds[number][0][1] == rounds[number // 6 * 6][0][1], "a whole group on one CPU"
