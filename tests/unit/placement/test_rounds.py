"""Rounds of tasks on CPUs that share one cache: against trying all, against playing them through, and odd numbers."""

from itertools import combinations

import numpy as np
import pytest
from tests.support.placements import random_problem

from becalm.errors import UsageError
from becalm.placement.corun import play
from becalm.placement.result import PlacementSearch
from becalm.placement.rounds import Rounds, plan
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, PairCost, SetCosts, Task

SEARCH = PlacementSearch(0, 10.0)


def partitions(left, most):
    """Yield all ways to divide into sets of a size at most."""
    if not left:
        yield ()
        return
    first, rest = left[0], left[1:]
    for size in range(min(most, len(left))):
        for others in combinations(rest, size):
            for more in partitions(tuple(name for name in rest if name not in others), most):
                yield ((first, *others), *more)


@pytest.mark.parametrize(("count", "slots"), [(2, 2), (5, 2), (6, 2), (8, 2), (6, 3), (7, 4)])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_other_rounds_take_less_time(count, slots, seed):
    rounds = random_problem(count, seed, slots)
    planned = plan(rounds, SEARCH)
    best = min(rounds.total_s(partition) for partition in partitions(tuple(range(count)), slots))
    assert rounds.total_s(planned.sharing) == pytest.approx(best)
    assert planned.bound == pytest.approx(best)
    assert sorted(member for members in planned.sharing for member in members) == list(range(count))


def test_a_round_lasts_as_long_as_playing_it_through():
    rounds = random_problem(2, 3)
    tasks = rounds.problem.tasks
    played = play(tasks, [Chip(2)], rounds.problem.costs, [[task.name for task in tasks]], drain=True)
    assert rounds.lasts((0, 1)) == pytest.approx(played.end_s)


def test_slow_downs_of_pairs_add_up():
    pairs = [PairCost(a, b, 0.5) for a in "abc" for b in "abc" if a != b]
    rounds = Rounds.of(
        [Task(letter, 1.0) for letter in "abc"], Chip(3), CoRunCosts(CostOrigin.GIVEN, pairs=tuple(pairs))
    )
    assert rounds.lasts((0, 1, 2)) == pytest.approx(3)
    assert rounds.lost(((0, 1, 2),)) == pytest.approx({"a": 2 / 3, "b": 2 / 3, "c": 2 / 3})


def test_by_hand():
    # a takes 1/(1 - 0.5) = 2 s next to b; b has then done 2·0.8/3 of its work and does the rest alone.
    costs = CoRunCosts(CostOrigin.GIVEN, pairs=(PairCost("a", "b", 0.5), PairCost("b", "a", 0.2)))
    rounds = Rounds.of([Task("a", 1.0), Task("b", 3.0)], Chip(2), costs)
    assert rounds.lasts((0, 1)) == pytest.approx(2 + 3 * (1 - 1.6 / 3))
    assert plan(rounds, SEARCH).sharing == ((0, 1),)
    assert rounds.lost(((0, 1),)) == {"a": 0.5, "b": 0.2}
    assert rounds.expected() == pytest.approx(3.4)


def test_tasks_that_slow_each_other_too_much_run_one_after_the_other():
    costs = CoRunCosts(CostOrigin.GIVEN, pairs=(PairCost("a", "b", 0.7), PairCost("b", "a", 0.7)))
    rounds = Rounds.of([Task("a", 1.0), Task("b", 1.0)], Chip(2), costs)
    assert plan(rounds, SEARCH).sharing == ((0,), (1,))


def test_unmeasured_pairs_do_not_run_together():
    costs = CoRunCosts(CostOrigin.GIVEN, pairs=(PairCost("a", "b", 0.1), PairCost("b", "a", 0.1)))
    rounds = Rounds.of([Task(name, 1.0) for name in "abc"], Chip(2), costs)
    assert plan(rounds, SEARCH).sharing == ((0, 1), (2,))
    with pytest.raises(UsageError, match="on one chip are not known"):
        rounds.expected()


def test_fewer_tasks_than_slots_and_a_task_alone():
    rounds = Rounds.of(
        [Task("a", 2.0)],
        Chip(4),
        CoRunCosts(CostOrigin.GIVEN, pairs=(PairCost("a", "x", 0.1), PairCost("x", "a", 0.1))),
    )
    assert plan(rounds, SEARCH).sharing == ((0,),)
    assert rounds.expected() == 2.0


@pytest.mark.parametrize(("count", "slots"), [(6, 2), (5, 2), (7, 3)])
def test_the_mean_of_random_rounds_is_that_of_all(count, slots):
    rounds = random_problem(count, 5, slots)
    full = [slots] * (count // slots) + ([count % slots] if count % slots else [])
    every = [
        rounds.total_s(partition)
        for partition in partitions(tuple(range(count)), slots)
        if sorted(map(len, partition), reverse=True) == full
    ]
    assert rounds.expected() == pytest.approx(np.mean(every))
    drawn = [rounds.total_s(chip) for chip in rounds.drawn(2000)]
    assert np.mean(drawn) == pytest.approx(np.mean(every), abs=5 * np.std(drawn) / 2000**0.5)


def test_the_longest_are_full_rounds_and_take_most():
    rounds = random_problem(6, 2)
    worst = plan(rounds, SEARCH, longest=True).sharing
    assert [len(error) for error in worst] == [2, 2, 2]
    every = [rounds.total_s(partition) for partition in partitions(tuple(range(6)), 2) if len(partition) == 3]
    assert rounds.total_s(worst) == pytest.approx(max(every))


def test_processes_of_a_task_run_in_one_round():
    pairs = [PairCost(a, b, 0.1) for a in "abc" for b in "abc"]
    rounds = Rounds.of(
        [Task("a", 1.0, processes=2), Task("b", 1.0), Task("c", 1.0)],
        Chip(2),
        CoRunCosts(CostOrigin.GIVEN, pairs=pairs),
    )
    assert sorted(rounds.named(plan(rounds, SEARCH).sharing)) == [("a",), ("b", "c")]
    assert rounds.lasts((0,)) == pytest.approx(1 / 0.9)
    assert rounds.expected() > 0
    with pytest.raises(UsageError, match="it does not fit into a round"):
        Rounds.of([Task("a", 1.0, processes=3)], Chip(2), CoRunCosts(CostOrigin.GIVEN, pairs=pairs))


def test_costs_of_whole_sets_are_used():
    names = ("a", "b", "c")
    costs = CoRunCosts(
        CostOrigin.GIVEN,
        sets=(SetCosts(names, (0.05, 0.05, 0.05)),),
        pairs=tuple(PairCost(a, b, 0.4) for a in names for b in names if a != b),
    )
    rounds = Rounds.of([Task(name, 1.0) for name in names], Chip(3), costs)
    assert plan(rounds, SEARCH).sharing == ((0, 1, 2),)


def test_rounds_need_times():
    costs = CoRunCosts(CostOrigin.GIVEN, pairs=(PairCost("a", "b", 0.1), PairCost("b", "a", 0.1)))
    with pytest.raises(UsageError, match="The time that a takes alone is not known"):
        Rounds.of([Task("a"), Task("b", 1.0)], Chip(2), costs)
