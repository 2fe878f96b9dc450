"""Published workloads cost what their source says, by the engine's methods."""

from itertools import combinations

import numpy as np
import pytest

from becalm.placement import place
from becalm.placement.model import costs, published
from becalm.results.place_costs import Chip, CostOrigin

KNOWN = published()


ORDER = ("libquantum", "gobmk", "namd", "gamess", "povray", "milc", "mcf", "lbm", "gcc")
"""Workload k of Anderson (2013), table 6.2, is without the k-th."""


def workload(k):
    return [program for program in KNOWN.programs if program.name != ORDER[k - 1]]


@pytest.mark.parametrize(
    ("k", "optimum", "di", "mean", "worst"), [(1, 8.156, 9.612, 9.723, 16.008), (7, 8.814, 8.818, 9.954, 16.885)]
)
def test_workloads_cost_what_they_are_known_to_cost(k, optimum, di, mean, worst):
    programs = workload(k)
    table = costs(programs, KNOWN.cache, [4])
    assert table.origin is CostOrigin.MODEL
    assert len(table.sets) == 70
    tasks, chips = [program.task for program in programs], [Chip(4)] * 2
    worth = {tuple(sorted(costs.tasks)): sum(costs.costs) for costs in table.sets}
    names = sorted(program.name for program in programs)
    sharings = [((names[0], *rest), tuple(set(names[1:]) - set(rest))) for rest in combinations(names[1:], 3)]
    values = [sum(worth[tuple(sorted(half))] for half in halves) / 8 for halves in sharings]
    assert len(values) == 35
    assert [round(100 * value, 3) for value in (np.mean(values), max(values))] == [mean, worst]
    assert round(100 * place(tasks, chips, table, method="di").cost, 3) == di
    best = place(tasks, chips, table, method="optimal")
    assert round(100 * best.cost, 3) == optimum
    assert best.gap == pytest.approx(0, abs=1e-12)
    assert best.cost == pytest.approx(min(values))
