"""Tasks that come and go: new ones are spilled, others stay, and nobody moves for what may be noise."""

import random
from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace
from tests.support.placement_engine import placement_engine  # noqa: F401

from becalm.analysis.place_watch import Limits, RunningState, SharingModel, step
from becalm.errors import UsageError
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, PairCost, Task

pytestmark = pytest.mark.usefixtures("placement_engine")

COSTS = np.array([[0, 0.02, 0.2, 0.1], [0.02, 0, 0.1, 0.2], [0.2, 0.1, 0, 0.02], [0.1, 0.2, 0.02, 0]])
"""Best {a, b}, {c, d}."""


def model(error=0.001, costs=COSTS, chips=(2, 2)):
    pairs = tuple(
        PairCost(name, other, float(costs[a, b]), error)
        for a, name in enumerate("abcd")
        for b, other in enumerate("abcd")
        if a != b
    )
    return SharingModel(
        tuple(Task(name, 1.0) for name in "abcd"),
        tuple(Chip(room) for room in chips),
        CoRunCosts(CostOrigin.GIVEN, pairs=pairs),
    )


BAD = RunningState({"a": 0, "c": 0, "b": 1, "d": 1}, 0.0)


def sets(state):
    return {frozenset(name for name, at in state.chips.items() if at == chip) for chip in set(state.chips.values())}


def test_new_tasks_go_where_they_cost_least_and_nobody_moves():
    state, _ = step(RunningState(placed_s=0.0), "a", 1.0, model())
    state, why = step(state, "ac", 2.0, model())
    assert sets(state) == {frozenset("a"), frozenset("c")}
    assert why == "c came:"
    state, _ = step(state, "acb", 3.0, model())
    assert sets(state) == {frozenset("ab"), frozenset("c")}


def test_nothing_new_is_nothing_said():
    state = RunningState({"a": 0, "b": 0, "c": 1, "d": 1}, 0.0)
    assert step(state, "abcd", 1000.0, model()) == (state, "")


def test_a_better_sharing_is_applied_with_the_fewest_moves():
    state, why = step(BAD, "abcd", 100.0, model())
    assert sets(state) == {frozenset("ab"), frozenset("cd")}
    assert sum(state.chips[name] != BAD.chips[name] for name in "abcd") == 2
    assert state.placed_s == 100.0
    assert why.startswith("Another sharing is worth 18")


def test_not_sooner_than_it_may():
    assert step(BAD, "abcd", 29.9, model()) == (BAD, "")
    assert step(BAD, "abcd", 30.0, model())[1]
    assert step(BAD, "abcd", 30.0, model(), Limits(every_s=60))[0] == BAD


def test_nobody_moves_for_noise_or_for_less_than_moving_costs():
    # Eight pairs differ: the noise of the mean of four tasks is the error times sqrt(8)/4.
    assert step(BAD, "abcd", 100.0, model(error=0.1))[1]
    assert step(BAD, "abcd", 100.0, model(error=0.13))[0] == BAD
    assert step(BAD, "abcd", 100.0, model(), Limits(moving=0.08))[1]
    assert step(BAD, "abcd", 100.0, model(), Limits(moving=0.1))[0] == BAD


def test_it_does_not_swing_between_two_that_are_as_good():
    same = np.full((4, 4), 0.1)
    state, at = BAD, 0.0
    for at in range(0, 1000, 50):
        jitter = same + np.random.default_rng(at).normal(0, 0.01, (4, 4))
        state, why = step(state, "abcd", float(at), model(error=0.01, costs=jitter))
        assert why == ""
    assert state.chips == BAD.chips


def test_those_who_end_leave_room_and_others_stay():
    state, why = step(RunningState({"a": 0, "b": 0, "c": 1, "d": 1}, 0.0), "bd", 1.0, model())
    assert state.chips == {"b": 0, "d": 1}
    assert why == "a and c ended:"


def test_programs_without_room_are_left_alone():
    state, _ = step(RunningState(), "abcd", 0.0, model(chips=(1, 1)))
    assert sorted(state.chips.values()) == [0, 1]
    assert step(replace(state), "abcd", 1.0, model(chips=(1, 1)))[1] == ""


def test_chips_that_differ_are_not_exchanged():
    state, _ = step(RunningState({"a": 0, "c": 0, "b": 1, "d": 0}, 0.0), "abcd", 100.0, model(chips=(3, 1)))
    assert sum(at == 0 for at in state.chips.values()) == 3


def test_any_course_of_events_keeps_rooms_and_the_pace():
    drawn, state, placed = random.Random(1), RunningState(), []
    for at in range(300):
        running = [name for name in "abcd" if drawn.random() < 0.7]
        after, why = step(state, running, float(at), model())
        assert set(after.chips) == set(running)
        assert all(list(after.chips.values()).count(chip) <= 2 for chip in (0, 1))
        if why.startswith("Another"):
            placed.append(at)
        else:
            assert all(after.chips[name] == state.chips[name] for name in after.chips if name in state.chips)
        state = after
    assert placed
    assert all(later - sooner >= 30 for sooner, later in pairwise(placed))


def test_unknown_tasks():
    with pytest.raises(UsageError, match="no program 'x'"):
        step(RunningState(), "ax", 0.0, model())
