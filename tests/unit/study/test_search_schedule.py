"""The schedule of the pairs of a bisection: what is measured, what counts, and what a pilot chooses."""

from dataclasses import replace

import numpy as np
import pytest

from at_once import Machine, World
from becalm.nouns.options.measuring import CompareOptions
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.plans.schedule import Schedule
from becalm.study.looks import Looks
from becalm.study.search_schedule import PILOT_ROUNDS, SearchSchedule

PROGRAMS = (Workload(("good",), name="good"), Workload(("bad",), name="bad"))
SHARED = World(shared=0.01, own=0.0015, ratio=0.05)


def measured(schedule, count, world=SHARED, seed=1):
    """Return the looks at a simulated comparison with the options of a schedule, and these options."""
    options = schedule.options(count)
    if options.schedule != Schedule.TURNS:
        options = replace(options, at_once_cpus=(0, 1))
    looks, machine = Looks(Study("compare", PROGRAMS, seed=seed), options), Machine(world, (seed,))
    while (block := looks.plan(looks.history)) is not None:
        looks.history.extend(machine.run(block, looks.history.next_seq))
    return looks, options


def test_a_difference_in_turns_is_one_of_a_round():
    schedule = SearchSchedule(Schedule.TURNS)
    looks, options = measured(schedule, 8)
    differences = schedule.take(looks)
    first, second = looks.history.pairs().log_wall
    assert (options.runs, options.budget_ns, options.warmup) == (8, None, 1)
    assert differences == pytest.approx(second - first)
    assert schedule.runs == 2


def test_a_difference_at_once_is_one_of_a_group_on_both_cpus():
    """One CPU is slower: no difference has anything of that, and turns do not count."""
    schedule = SearchSchedule(Schedule.AT_ONCE)
    looks, _ = measured(schedule, 30, World(slower=0.2, own=0.0, ratio=0.05))
    differences = schedule.take(looks)
    assert differences == pytest.approx([0.05] * len(differences), abs=1e-5)
    assert len(differences) == sum(looks.schedules.groups.at_once)
    assert 25 <= len(differences) < looks.history.rounds / 2
    assert schedule.runs == 4


@pytest.mark.parametrize(
    ("world", "chosen"),
    [(SHARED, Schedule.AT_ONCE), (World(own=0.003, rougher=4.0), Schedule.TURNS)],
    ids=["shared noise", "noisier at once"],
)
def test_a_pilot_measures_both_and_chooses_one_for_the_whole_search(world, chosen):
    schedule = SearchSchedule(Schedule.AUTO)
    looks, options = measured(schedule, 6, world)
    assert (schedule.piloting, options.runs) == (True, PILOT_ROUNDS)
    kinds = looks.schedules.groups.at_once
    assert sum(kinds) == 6
    differences = schedule.take(looks)
    assert (schedule.piloting, schedule.schedule) == (False, chosen)
    assert len(differences) == (6 if chosen is Schedule.AT_ONCE else 13)
    assert schedule.options(10).schedule == chosen


def test_programs_that_cannot_run_at_once_take_turns_for_the_whole_search():
    schedule = SearchSchedule(Schedule.AUTO)
    options = CompareOptions(runs=3, budget_ns=None, turns_because="there is one CPU")
    looks, machine = Looks(Study("compare", PROGRAMS, seed=1), options), Machine(SHARED, (1,))
    while (block := looks.plan(looks.history)) is not None:
        looks.history.extend(machine.run(block, looks.history.next_seq))
    assert len(schedule.take(looks)) == 3
    assert (schedule.schedule, schedule.reason) == (Schedule.TURNS, "there is one CPU")


def test_a_pilot_is_measured_to_its_end():
    """Neither a share of the budget nor a better schedule ends it."""
    schedule = SearchSchedule(Schedule.AUTO)
    for seed in range(5):
        looks, _ = measured(schedule, 6, seed=seed)
        assert looks.history.rounds == PILOT_ROUNDS
        assert np.array_equal(np.bincount(looks.schedules.groups.at_once), [7, 6])
