"""The mean of random sharings, and the worst: against all of them."""

from itertools import permutations

import numpy as np
import pytest

from becalm.placement.baselines import expected, worst
from becalm.placement.problem import Problem
from becalm.placement.result import PlacementSearch
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, PairCost, PlacementObjective, Task


def problem(count, chips, seed, processes=1):
    random = np.random.default_rng(seed)
    tasks = [Task(f"t{number}", 1.0, processes=processes) for number in range(count)]
    costs = random.uniform(0, 0.3, (count, count))
    pairs = tuple(PairCost(f"t{a}", f"t{b}", float(costs[a, b])) for a in range(count) for b in range(count))
    return Problem.of(tasks, chips, CoRunCosts(CostOrigin.GIVEN, pairs=pairs), PlacementObjective.DEGRADATION)


def every(sharing_problem):
    """Yield the cost of each way to put processes into slots."""
    slots = [chip for chip, room in enumerate(sharing_problem.rooms) for _ in range(room)]
    for drawn in permutations(range(len(slots)), len(sharing_problem.item)):
        where = [slots[chip] for chip in drawn]
        sharing = tuple(
            tuple(item for item, at in enumerate(where) if at == chip) for chip in range(len(sharing_problem.chips))
        )
        yield sharing_problem.worth(sharing)[0]


@pytest.mark.parametrize("chips", [(Chip(2), Chip(2)), (Chip(3), Chip(2)), (Chip(3), Chip(3)), (Chip(1), Chip(4))])
def test_the_mean_and_the_worst_of_all(chips):
    sharing_problem = problem(4, chips, 1)
    costs = list(every(sharing_problem))
    assert expected(sharing_problem) == pytest.approx(np.mean(costs))
    assert sharing_problem.worth(worst(sharing_problem, PlacementSearch(0, 10.0)))[0] == pytest.approx(max(costs))


def test_tasks_of_several_processes_are_drawn():
    sharing_problem = problem(3, (Chip(3), Chip(3)), 2, processes=2)
    costs = list(every(sharing_problem))
    assert expected(sharing_problem) == pytest.approx(np.mean(costs), abs=6 * np.std(costs) / 20)
    assert sharing_problem.worth(worst(sharing_problem, PlacementSearch(0, 1.0)))[0] == pytest.approx(max(costs))
