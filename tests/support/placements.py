"""Tasks and costs of tests that place programs on chips."""

from itertools import permutations

import numpy as np

from becalm.placement.model import costs, published
from becalm.placement.rounds import Rounds
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, PairCost, Task

KNOWN = published()


def ranked(count):
    """Return tasks of falling pressure, named by their ranks."""
    return [Task(f"{rank}", 1.0, pressure=float(count - rank)) for rank in range(1, count + 1)]


def pairs_of(matrix):
    """Return the costs of pairs of the tasks "1", "2", …"""
    names = [f"{number}" for number in range(1, len(matrix) + 1)]
    return CoRunCosts(
        CostOrigin.GIVEN,
        pairs=tuple(
            PairCost(second, other, float(matrix[i][j]))
            for (i, second), (j, other) in permutations(list(enumerate(names)), 2)
        ),
    )


def drawn_pairs(count, seed=0):
    """Return random costs of pairs."""
    return pairs_of(np.random.default_rng(seed).uniform(0, 0.05, (count, count)))


def eight():
    """Return eight published programs and their costs."""
    programs = KNOWN.programs[1:]
    return [program.task for program in programs], costs(programs, KNOWN.cache, [4])


def random_problem(count, seed, slots=2, most=0.6):
    """Return rounds of random tasks on a chip."""
    random = np.random.default_rng(seed)
    tasks = [Task(f"t{number}", float(random.uniform(0.5, 2))) for number in range(count)]
    costs = random.uniform(0, most / (slots - 1), (count, count))
    pairs = tuple(PairCost(f"t{a}", f"t{b}", float(costs[a, b])) for a in range(count) for b in range(count) if a != b)
    return Rounds.of(tasks, Chip(slots), CoRunCosts(CostOrigin.GIVEN, pairs=pairs))
