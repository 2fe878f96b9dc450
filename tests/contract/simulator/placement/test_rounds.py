"""Rounds where the sets are too many to be listed are filled by the engine."""

import numpy as np

from becalm.placement import rounds as rounds_module
from becalm.placement.result import PlacementSearch
from becalm.placement.rounds import Rounds, plan
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, PairCost, Task

SEARCH = PlacementSearch(0, 10.0)


def random_problem(count, seed, slots=2, most=0.6):
    random = np.random.default_rng(seed)
    tasks = [Task(f"t{number}", float(random.uniform(0.5, 2))) for number in range(count)]
    costs = random.uniform(0, most / (slots - 1), (count, count))
    pairs = tuple(PairCost(f"t{a}", f"t{b}", float(costs[a, b])) for a in range(count) for b in range(count) if a != b)
    return Rounds.of(tasks, Chip(slots), CoRunCosts(CostOrigin.GIVEN, pairs=pairs))


def test_more_sets_than_can_be_listed_are_filled_by_what_tasks_lose(monkeypatch):
    rounds = random_problem(8, 1)
    monkeypatch.setattr(rounds_module, "MOST_SETS", 10)
    planned = plan(rounds, SEARCH)
    assert planned.bound is None
    assert sorted(member for members in planned.sharing for member in members) == list(range(8))
    monkeypatch.undo()
    assert rounds.total_s(planned.sharing) >= rounds.total_s(plan(rounds, SEARCH).sharing) - 1e-9
