"""The lengths around which regions gather: a second mode is a second path through the code, or state of the machine.

Public: modes.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from becalm.stats.arrays import Floats

LEAST = 100
"""The fewest regions for which a second mode is named."""

SHARE = 0.05
"""The least share of all regions that a mode has."""

MOST_BINS = 200

VALLEY = 0.5
"""The share of the lower of two modes below which counts fall between them."""


def modes(ns: Floats, step: float, apart: float) -> tuple[tuple[float, float], ...]:
    """Return the median of each mode in ns and its share of all regions, the shortest first; empty for a single mode.

    Arguments:
        ns: lengths in rising order, shape (n,).
        step: step of the clock in ns, or 0.
        apart: distance in ns below which two modes are one.
    """
    if len(ns) < LEAST:
        return ()
    low, high = float(ns[0]), float(ns[99 * (len(ns) - 1) // 100])
    quartiles = ns[[len(ns) // 4, 3 * len(ns) // 4]]
    target_width = max(2 * float(quartiles[1] - quartiles[0]) / len(ns) ** (1 / 3), (high - low) / MOST_BINS)
    width = max(1, math.ceil(target_width / step)) * step if step > 0 else target_width
    if width <= 0 or high <= low:
        return ()
    inside = ns[: int(np.searchsorted(ns, high, side="right"))]
    counts = np.bincount(np.floor((inside - low) / width + (0.5 if step > 0 else 0.0)).astype(np.int64))
    cuts = [low + (place - (0.5 if step > 0 else 0.0)) * width for place in _valleys(counts)]
    ends = np.concatenate([[0], np.searchsorted(inside, cuts), [len(inside)]])
    groups = [inside[begin:end] for begin, end in pairwise(ends)]
    candidates = [
        (float(group[len(group) // 2]), len(group) / len(ns)) for group in groups if len(group) >= SHARE * len(ns)
    ]
    distinct = [
        mode
        for place, mode in enumerate(candidates)
        if place == 0 or mode[0] - candidates[place - 1][0] > max(apart, 2 * step)
    ]
    return tuple(distinct) if len(distinct) > 1 else ()


def _valleys(counts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[int]:
    """Return the bins at which a new mode begins: the lowest between two peaks that stand out from it beyond chance."""
    result: list[int] = []
    peak = lowest = 0
    for place in range(1, len(counts)):
        if counts[place] < counts[lowest]:
            lowest = place
        valley, count = int(counts[lowest]), int(counts[place])
        lower = min(int(counts[peak]), count)
        # Three standard deviations of both counts.
        if lowest > peak and valley < VALLEY * lower and lower - valley > 3 * math.sqrt(lower + valley):
            result.append(lowest)
            peak = lowest = place
        elif counts[place] > counts[peak]:
            peak = lowest = place
    return result
