"""The levels of a series in its last part: whether it settles, or still changes in its last sixth."""

from __future__ import annotations

import itertools
import math

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, distinct, quantiles, series

FEWEST = 40
"""The fewest runs of a series that is divided into levels."""

SHORTEST = 10
"""The fewest runs of a level."""

WHOLE = 300
"""The most runs of a series that is divided as a whole; of a longer one, only the last third is divided."""

MOST = 1000
"""The most blocks into which a longer part is divided; their means are its values."""

LATE = 6
"""The divisor of the number of runs that gives the late ones, as the last 500 of 3,000 in Barrett et al. (2017)."""

SMALLEST = 0.07
"""The relative difference of a late level from the last one from which a series has not settled.

Chosen with PENALTY on 120 forks of Java benchmarks of known class (`bench/replay.py`).
"""

PENALTY = 28.0
"""The gain in -2 log likelihood that one more level needs, over the logarithm of the number of values. It is large,
since run times have tails and memory that normal values of one variance for each level have not."""

FAR = 3.0
"""The distance from the median, in distances of the 1st and the 99th percentile, beyond which values count as the
median."""


class Levels(msgspec.Struct, frozen=True):
    """The levels in the last part of a series.

    - `detected`: whether a late level differs from the last one by SMALLEST or more
    - `start`: the index of the run at which the largest of the late changes happened
    - `change`: the level after that run over the level before it, less 1
    - `spread`: the largest difference of a late level from the last one, as a fraction of the last one
    - `late`: the number of late levels
    """

    detected: bool
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
    relative_times = values[skipped:] / middle
    values_of_blocks = (
        np.where(np.abs(relative_times - 1) > FAR * (high - first) / middle, 1.0, relative_times)
        .reshape(-1, size)
        .mean(axis=1)
    )
    ends = _level_starts(values_of_blocks, _resolution(values_of_blocks) ** 2 / 12)
    late = len(values_of_blocks) - max(SHORTEST, count // LATE // size)
    begins = [begin for begin, end in itertools.pairwise(ends) if end > late]
    means = [
        float(values_of_blocks[begin:end].mean())
        for begin, end in zip(begins, [*begins[1:], len(values_of_blocks)], strict=True)
    ]
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


def _level_starts(values: Floats, least: float) -> list[int]:
    """Return the starts of levels, and the number of values. `least`: the smallest variance that a level may have."""
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
