"""The best sharing by the engine: optima found by trial, bounds, and searches that run out of time."""

from itertools import combinations, permutations

import numpy as np
import pytest
from tests.support.placements import drawn_pairs, pairs_of, ranked
from tests.waiting import HANG_LIMIT_S

from becalm.placement import exact, place, search
from becalm.placement.engine import ask
from becalm.placement.problem import Problem
from becalm.placement.result import PlacementSearch
from becalm.results.place_costs import (
    Chip,
    CoRunCosts,
    CostOrigin,
    PairCost,
    PlacementObjective,
    SetCosts,
    Task,
    in_rounds,
)


def by_trial(tasks, room, cost_table):
    """Return the least mean cost on two chips."""
    problem = Problem.of(tasks, [Chip(room)] * 2, cost_table, PlacementObjective.DEGRADATION)
    everyone = set(range(len(problem.item)))
    sharings = [
        (combination, tuple(everyone - set(combination))) for combination in combinations(sorted(everyone), room)
    ]
    return min(problem.worth(sharing)[0] for sharing in sharings)


def test_the_optimum_is_the_least_of_all():
    for seed in range(3):
        cost_table = drawn_pairs(6, seed)
        assert place(ranked(6), [Chip(3)] * 2, cost_table).cost == pytest.approx(by_trial(ranked(6), 3, cost_table))


def test_jobs_of_several_processes_cost_their_slowest():
    tasks = [Task(name, 1.0, 2, 1.0) for name in "abc"]
    random = np.random.default_rng(2)
    both = [*permutations("abc", 2), *((name, name) for name in "abc")]
    costs = CoRunCosts(
        CostOrigin.GIVEN, pairs=tuple(PairCost(*number, float(random.uniform(0, 0.3))) for number in both)
    )
    least = by_trial(tasks, 3, costs)
    assert place(tasks, [Chip(3)] * 2, costs).cost == pytest.approx(least)
    assert place(tasks, [Chip(3)] * 2, costs, method="swap").cost == pytest.approx(least)


def test_ways_to_the_optimum_agree():
    tasks, cost_table, chips = ranked(12), drawn_pairs(12, 1), [Chip(3)] * 4
    problem = Problem.of(tasks, chips, cost_table, PlacementObjective.DEGRADATION)
    limits = PlacementSearch(0, HANG_LIMIT_S)
    table = exact.by_table(problem)
    columns = exact.by_columns(problem, limits)
    generated = exact.by_generation(problem, limits)
    best = problem.worth(table.sharing)[0]
    assert problem.worth(columns.sharing)[0] == pytest.approx(best)
    assert columns.bound == pytest.approx(best)
    assert problem.worth(generated.sharing)[0] == pytest.approx(best, rel=0.01)
    assert generated.bound <= best + 1e-9


def test_a_planted_optimum_is_found_and_proved():
    # Five in a group cost each other the least there is; all others more.
    random = np.random.default_rng(4)
    groups = random.permutation(30) % 6
    least = 0.005
    matrix = least + np.where(groups[:, None] == groups, 0.0, random.exponential(0.02, (30, 30)))
    tasks, cost_table = ranked(30), pairs_of(matrix)
    placed = place(tasks, [Chip(5)] * 6, cost_table, method="swap", seed=1)
    assert placed.cost == pytest.approx(4 * least)
    assert {frozenset(groups[int(name) - 1] for name in names) for names in placed.sharing} == {
        frozenset([group]) for group in range(6)
    }
    proved = place(tasks, [Chip(5)] * 6, cost_table, method="optimal", budget_s=HANG_LIMIT_S)
    assert proved.cost == pytest.approx(4 * least)
    assert proved.gap < 1e-6


def test_degradation_and_slow_down_may_have_other_optima():
    sets = {("a", "b"): (0.6, 0.0), ("c", "d"): (0.0, 0.0), ("a", "c"): (0.4, 0.3), ("b", "d"): (0.0, 0.0)}
    sets |= {("a", "d"): (0.9, 0.9), ("b", "c"): (0.9, 0.9)}
    costs = CoRunCosts(CostOrigin.GIVEN, tuple(SetCosts(names, lost) for names, lost in sets.items()))
    tasks, chips = [Task(name, 1.0) for name in "abcd"], [Chip(2)] * 2
    assert place(tasks, chips, costs).sharing == (("a", "b"), ("c", "d"))
    assert place(tasks, chips, costs, objective="slowdown").sharing == (("a", "c"), ("b", "d"))


def test_rounds_separate_what_one_cache_cannot():
    tasks, cost_table = ranked(4), drawn_pairs(4, 3)
    rounds = in_rounds([Chip(2)], 4)
    assert place(tasks, rounds, cost_table).cost == pytest.approx(place(tasks, [Chip(2)] * 2, cost_table).cost)


def test_a_search_that_is_out_of_time_says_so_and_gives_what_it_has(monkeypatch):
    monkeypatch.setattr(search, "ask", lambda kind, request: ask(kind, {**request, "budget_ms": 0}))
    placed = place(ranked(12), [Chip(3)] * 4, drawn_pairs(12), method="swap")
    assert placed.out_of_time
    assert sum(map(len, placed.sharing)) == 12
