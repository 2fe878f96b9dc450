"""Does a series settle, or does its level still change in its last sixth?"""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, distinct, quantiles, series
from becalm.values import dataclass

FEWEST = 40
"""Runs below which no level is looked for."""

SHORTEST = 10
"""Runs that make a level."""

WHOLE = 300
"""Runs up to which the whole series is divided into levels; of longer ones the last third."""

MOST = 1000
"""Blocks that a longer part is divided into, whose means are its values."""

LATE = 6
"""The divisor of the number of runs that gives the late ones, as the last 500 of 3,000 in Barrett et al. (2017)."""

SMALLEST = 0.07
"""The difference of a late level from the last one, as a fraction of it, from which a series has not settled.

Chosen with PENALTY on 120 forks of Java benchmarks of known class (`bench/replay.py`)."""

PENALTY = 28.0
"""The gain in -2 log likelihood that one more level needs, times the logarithm of the number of values. Large, as run
times have tails and memory that normal values of one variance a level have not."""

FAR = 3.0
"""Values farther from the median than so many distances of the 1st and the 99th percentile count as the median."""


@dataclass(frozen=True, slots=True)
class Levels:
    """Levels in the last part of a series. `found`: a late one differs from the last one by SMALLEST or more.

    `start`: index of the run at which the largest of the late changes happened; `change`: the level after it over the
    one before it, less 1; `spread`: the largest difference of a late level from the last one, as a fraction of that;
    `late`: the number of late levels.
    """

    found: bool
    start: int = 0
    change: float = 0.0
    spread: float = 0.0
    late: int = 1


def levels(x: npt.ArrayLike) -> Levels:
    """Divide a series into levels, each normal with its own mean and variance, and compare those of its last sixth.

    The division has the largest likelihood less a penalty for each level (PELT: Killick, Fearnhead & Eckley 2012,
    J. Am. Stat. Assoc. 107:1590). A level reaches into the last sixth or lies in it. Times are above 0. Raises
    ValueError for an empty series or one that is not finite.
    """
    values = series(x, "The series of times")
    count = len(values)
    if count < FEWEST or values.min() <= 0 or values.min() == values.max():
        return Levels(False)
    last = max(count // 3, min(count, WHOLE))
    size = -(-last // MOST)
    skipped = count - last // size * size
    first, middle, high = quantiles(values[count - last :], 0.01, 0.5, 0.99)
    part = values[skipped:] / middle
    near = np.where(np.abs(part - 1) > FAR * (high - first) / middle, 1.0, part).reshape(-1, size).mean(axis=1)
    ends = _divided(near, _resolution(near) ** 2 / 12)
    late = len(near) - max(SHORTEST, count // LATE // size)
    begins = [begin for begin, end in itertools.pairwise(ends) if end > late]
    means = [float(near[begin:end].mean()) for begin, end in zip(begins, [*begins[1:], len(near)], strict=True)]
    spread = max(abs(mean / means[-1] - 1) for mean in means)
    if spread < SMALLEST:
        return Levels(False, spread=spread, late=len(means))
    changes = [after / before - 1 for before, after in itertools.pairwise(means)]
    largest = max(range(len(changes)), key=lambda index: abs(math.log1p(changes[index])))
    return Levels(True, skipped + begins[largest + 1] * size, changes[largest], spread, len(means))


def _resolution(values: Floats) -> float:
    """Return the smallest distance of different values where some are equal; 0 where none are."""
    different, _ = distinct(np.sort(values))
    return float(np.diff(different).min()) if 1 < len(different) < len(values) else 0.0


def _divided(values: Floats, least: float) -> list[int]:
    """Return where levels begin, and the number of values. `least`: the smallest variance that a level may have."""
    count = len(values)
    penalty, least = PENALTY * math.log(count), max(least, 1e-10)
    total = np.concatenate([[0.0], np.cumsum(values)])
    square = np.concatenate([[0.0], np.cumsum(values * values)])
    costs, before = np.full(count + 1, np.inf), np.zeros(count + 1, dtype=np.intp)
    costs[0] = -penalty
    candidates = np.zeros(1, dtype=np.intp)
    for end in range(SHORTEST, count + 1):
        if end >= 2 * SHORTEST:
            candidates = np.append(candidates, end - SHORTEST)
        sizes = end - candidates
        variance = (square[end] - square[candidates]) / sizes - ((total[end] - total[candidates]) / sizes) ** 2
        cost = costs[candidates] + sizes * np.log(np.maximum(variance, least))
        best = int(np.argmin(cost))
        costs[end], before[end] = cost[best] + penalty, candidates[best]
        candidates = candidates[cost <= costs[end]]
    ends = [count]
    while ends[-1] > 0:
        ends.append(int(before[ends[-1]]))
    return ends[::-1]
