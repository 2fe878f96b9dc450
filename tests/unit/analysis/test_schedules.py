"""Comparisons in turns and at once on simulated machines: error rates, the choice, and disturbance.

The machines are those of `bench/at_once.py`.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace
from tests.rates import at_most
from tests.samples import samples

import at_once
from at_once import DISTURBED, WORLDS, Machine, World, compare, comparisons
from becalm.analysis.schedule_pairs import schedule_pairs
from becalm.analysis.schedules import RepeatedSchedules
from becalm.nouns.stopping_rule import StoppingRule
from becalm.plans.groups import Groups
from becalm.plans.history import History
from becalm.plans.schedule import BackToTurns, Schedule

SEEDS = samples(2, 300)
SHARED = World(shared=0.01, own=0.0015)


def measured(schedule: Schedule, world: World = SHARED) -> tuple[History, RepeatedSchedules]:
    """Return a study of some blocks, each looked at."""
    goal = StoppingRule(budget_ns=10**10)
    groups, machine, history = Groups(schedule, (0, 1), np.random.default_rng(1)), Machine(world, (1,)), History(2)
    watcher = RepeatedSchedules(0.05, groups)
    for _ in range(2):
        history.extend(machine.run(groups.block(history, goal), history.next_seq))
    for _ in range(12):
        watcher.look(history, goal.fraction(history))
        history.extend(machine.run(groups.block(history, goal), history.next_seq))
    return history, watcher


@pytest.mark.parametrize("name", WORLDS)
def test_equal_programs_are_called_different_as_seldom_as_stated(name: str) -> None:
    outcomes = comparisons(WORLDS[name], Schedule.AUTO, SEEDS, list(WORLDS).index(name))
    assert sum(outcome.missed for outcome in outcomes) <= at_most(SEEDS, 0.05)


@pytest.mark.parametrize(
    ("name", "better", "factor"),
    [("shared noise", Schedule.AT_ONCE, 1.25), ("noisier at once", Schedule.TURNS, samples(1.2, 1.1))],
)
def test_auto_chooses_the_better_schedule_and_is_near_it(name: str, better: Schedule, factor: float) -> None:
    auto, best = (comparisons(WORLDS[name], schedule, SEEDS, 3) for schedule in (Schedule.AUTO, better))
    assert sum(outcome.at_once != (better is Schedule.AT_ONCE) for outcome in auto) <= SEEDS // 10
    errors = [np.median([outcome.last.standard_error for outcome in outcomes]) for outcomes in (auto, best)]
    assert errors[0] < factor * errors[1]


@pytest.mark.parametrize("name", list(DISTURBED)[:3])
def test_auto_returns_to_turns_where_programs_disturb_each_other(name: str) -> None:
    world = DISTURBED[name]
    outcomes = comparisons(world, Schedule.AUTO, SEEDS, 4)
    assert sum(outcome.at_once for outcome in outcomes) <= at_most(SEEDS, 0.05)
    assert sum(outcome.last.low > 0 > world.ratio for outcome in outcomes) <= at_most(SEEDS, 0.05)


def test_at_once_alone_has_the_wrong_sign_there_and_shows_the_slow_down() -> None:
    """The simulation is hard enough, and the report has something to tell."""
    world = DISTURBED["one slowed by 3 %, truth −1 %"]
    assert compare(world, Schedule.AT_ONCE, (1,)).last.low > 0
    _, watcher = measured(Schedule.AT_ONCE, world)
    assert watcher.evidence is not None
    assert watcher.slowdowns[1] > 0.02 > watcher.slowdowns[0]
    assert watcher.groups.choice.back is None


def test_slow_programs_stay_in_turns_at_the_full_level() -> None:
    goal = StoppingRule(budget_ns=20 * at_once.RUN_NS)
    groups, history = Groups(Schedule.AUTO, (0, 1), np.random.default_rng(1)), History(2)
    watcher, machine = RepeatedSchedules(0.05, groups), Machine(SHARED, (1,))
    for _ in range(2):
        history.extend(machine.run(groups.block(history, goal), history.next_seq))
    watcher.look(history, goal.fraction(history))
    assert groups.choice.back is BackToTurns.FEW
    history.extend(machine.run(groups.block(history, StoppingRule(runs=40, warmup=0)), history.next_seq))
    assert watcher.look(history, 1.0).critical == pytest.approx(1.96, abs=0.05)


def test_a_group_counts_only_with_both_of_its_rounds() -> None:
    history, watcher = measured(Schedule.AT_ONCE)
    before = schedule_pairs(history, watcher.groups)
    number = next(number for number in history.finished.tolist() if watcher.groups.is_at_once(number))
    history.drop([number])
    after = schedule_pairs(history, watcher.groups)
    assert after.at_once.count == before.at_once.count - 1
    assert after.turns.count == before.turns.count
    assert len(after.levels) == len(before.levels) - 1


def test_a_study_of_which_nothing_counts_in_turns_says_nothing() -> None:
    history, watcher = measured(Schedule.AUTO)
    history.drop([number for number in history.finished.tolist() if not watcher.groups.is_at_once(number)])
    fresh = RepeatedSchedules(0.05, watcher.groups)
    assert math.isfinite(fresh.look(history, 1.0).estimate)
    assert fresh.evidence is not None
    assert fresh.evidence.turns == 0


def test_the_interval_holds_both_differences_while_they_seem_to_disagree() -> None:
    """The disturbance is 2.5 standard errors of the turns."""
    world, doubts = World(shared=0.01, own=0.0015, slowed=(0.0, 0.004)), 0
    goal = StoppingRule(budget_ns=10**10)
    groups, machine, history = Groups(Schedule.AUTO, (0, 1), np.random.default_rng(3)), Machine(world, (3,)), History(2)
    watcher = RepeatedSchedules(0.05, groups)
    while not goal.exhausted(history) and groups.choice.back is None:
        history.extend(machine.run(groups.block(history, goal), history.next_seq))
        if history.rounds:
            estimate, evidence = watcher.look(history, goal.fraction(history)), watcher.evidence
            if evidence is not None and evidence.disagree and math.isfinite(estimate.low) and not groups.choice.back:
                doubts += 1
                assert estimate.low < estimate.estimate - 0.9 * evidence.change < estimate.high
    assert doubts > 2


def test_measuring_does_not_end_before_a_disturbance_would_show() -> None:
    _, watcher = measured(Schedule.AUTO)
    evidence = watcher.evidence
    assert evidence is not None
    assert not watcher.would_detect({1: 1.9 * evidence.change_error})
    assert watcher.would_detect({1: -2.1 * evidence.change_error})
    watcher.groups.choice.back = BackToTurns.SLOWED
    assert watcher.would_detect({1: 0.0})
    assert replace(evidence, change=3 * evidence.change_error).disagree


def compared(
    schedule: Schedule, programs: int, world: World, seed: int, rounds: int
) -> tuple[History, RepeatedSchedules]:
    """Return a study of several programs to its end, the second one the reference."""
    goal = StoppingRule(runs=rounds)
    groups = Groups(schedule, (0, 1), np.random.default_rng(seed), programs)
    machine, history, watcher = Machine(world, (seed,)), History(programs), RepeatedSchedules(0.05, groups, 1)
    looked = 0
    while not goal.exhausted(history):
        history.extend(machine.run(groups.block(history, goal), history.next_seq))
        if history.rounds > 1.2 * looked:
            looked = history.rounds
            watcher.looks(history, goal.fraction(history))
    return history, watcher


@pytest.mark.parametrize("programs", [3, 4])
@pytest.mark.parametrize("schedule", [Schedule.AT_ONCE, Schedule.AUTO])
def test_several_programs_are_called_different_as_seldom_as_stated(programs: int, schedule: Schedule) -> None:
    seeds, wrong = samples(4, 200), 0
    for seed in range(seeds):
        history, watcher = compared(schedule, programs, SHARED, seed, samples(120, 600))
        wrong += any(not look.low <= 0 <= look.high for look in watcher.looks(history, 1.0).values())
    assert wrong <= at_most(seeds, 0.05)


@pytest.mark.parametrize("programs", [3, 4, 5])
def test_differences_of_several_programs_are_from_the_reference_and_precise_at_once(programs: int) -> None:
    world = World(shared=0.01, own=0.001, slower=0.05, ratio=0.01)
    looks = {}
    for schedule in (Schedule.TURNS, Schedule.AT_ONCE):
        history, watcher = compared(schedule, programs, world, 1, 300)
        looks[schedule] = watcher.looks(history, 1.0)
        assert sorted(looks[schedule]) == [program for program in range(programs) if program != 1]
        for program, look in looks[schedule].items():
            assert look.estimate == pytest.approx(0.01 * (program - 1), abs=5 * look.standard_error)
    for program, look in looks[Schedule.AT_ONCE].items():
        assert look.standard_error < 0.5 * looks[Schedule.TURNS][program].standard_error


def test_the_program_that_is_slowed_by_others_is_reported_among_several() -> None:
    """And programs that rest run by themselves, which is no level at once."""
    _, watcher = compared(Schedule.AT_ONCE, 3, World(own=0.0005, slowed=(0.0, 0.04)), 1, 400)
    assert watcher.slowdowns == pytest.approx([0.0, 0.04, 0.0], abs=0.002)


def test_several_programs_return_to_turns_where_one_is_slowed() -> None:
    _, watcher = compared(Schedule.AUTO, 3, World(shared=0.01, own=0.003, slowed=(0.04, 0.0)), 1, 2000)
    assert watcher.groups.choice.back in (BackToTurns.CHANGED, BackToTurns.SLOWED)


def test_both_programs_of_two_may_be_the_reference() -> None:
    history, watcher = compared(Schedule.AT_ONCE, 2, World(own=0.001, slower=0.05, ratio=0.01), 1, 300)
    (look,) = watcher.looks(history, 1.0).values()
    assert look.estimate == pytest.approx(-0.01, abs=5 * look.standard_error)
