"""Profiles of programs whose true costs are known."""

import numpy as np

from becalm.nouns.workload import Workload
from becalm.results.corun import CoRun, CoRunProfile, LeftOut, ProfiledProgram, TimedRun
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, PairCost, Task

CHIPS = (Chip(2), Chip(2))
MACHINE = {"hostname": "here", "cpu": "a CPU"}


def truth(costs, solo):
    """Return the costs without noise, and the tasks."""
    names = [f"t{number}" for number in range(len(costs))]
    pairs = tuple(
        PairCost(first, other, float(costs[a][b]))
        for a, first in enumerate(names)
        for b, other in enumerate(names)
        if a != b
    )
    return [Task(name, float(seconds)) for name, seconds in zip(names, solo, strict=True)], CoRunCosts(
        CostOrigin.GIVEN, pairs=pairs
    )


def profile(costs, solo, *, rounds=8, noise=0.02, seed=0, chips=CHIPS, left_out=(), machine=MACHINE):
    """Return a profile as it would be measured: every run with its own noise (a log-normal), each pair once a round."""
    random = np.random.default_rng(seed)
    names = [f"t{number}" for number in range(len(costs))]
    position = iter(range(10**9))

    def runs(seconds):
        return tuple(TimedRun(n, next(position), float(seconds * random.lognormal(0, noise))) for n in range(rounds))

    programs = tuple(
        ProfiledProgram(name, Workload.of([name]), runs(seconds)) for name, seconds in zip(names, solo, strict=True)
    )
    without = {frozenset(exclusion) for exclusion in left_out}
    co_runs = tuple(
        CoRun(first, (other,), runs(solo[a] / (1 - costs[a][b])))
        for a, first in enumerate(names)
        for b, other in enumerate(names)
        if a != b and frozenset((first, other)) not in without
    )
    skipped = tuple(LeftOut(tuple(exclusion), "no time was left") for exclusion in left_out)
    return CoRunProfile(machine, tuple(chips), programs, co_runs, skipped)
