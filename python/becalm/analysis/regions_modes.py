"""Lengths around which regions gather: a second mode is a second path through the code, or state of the machine.

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
"""Between two modes the counts fall below this share of the lower one."""


def modes(ns: Floats, step: float, apart: float) -> tuple[tuple[float, float], ...]:
    """Return the median of each mode and its share of all, the shortest first; none where there is one mode alone.

    Arguments:
        ns: lengths in rising order.
        step: of the clock, or 0.
        apart: modes nearer to each other than this are one.
    """
    if len(ns) < LEAST:
        return ()
    low, high = float(ns[0]), float(ns[99 * (len(ns) - 1) // 100])
    quartiles = ns[[len(ns) // 4, 3 * len(ns) // 4]]
    wide = max(2 * float(quartiles[1] - quartiles[0]) / len(ns) ** (1 / 3), (high - low) / MOST_BINS)
    width = max(1, math.ceil(wide / step)) * step if step > 0 else wide
    if width <= 0 or high <= low:
        return ()
    inside = ns[: int(np.searchsorted(ns, high, side="right"))]
    counts = np.bincount(np.floor((inside - low) / width + (0.5 if step > 0 else 0.0)).astype(np.int64))
    cuts = [low + (place - (0.5 if step > 0 else 0.0)) * width for place in _valleys(counts)]
    ends = np.concatenate([[0], np.searchsorted(inside, cuts), [len(inside)]])
    parts = [inside[begin:end] for begin, end in pairwise(ends)]
    found = [(float(part[len(part) // 2]), len(part) / len(ns)) for part in parts if len(part) >= SHARE * len(ns)]
    far = [
        each for place, each in enumerate(found) if place == 0 or each[0] - found[place - 1][0] > max(apart, 2 * step)
    ]
    return tuple(far) if len(far) > 1 else ()


def _valleys(counts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[int]:
    """Return the bins at which a new mode begins: the lowest between two peaks that stand out from it beyond chance."""
    result: list[int] = []
    peak = lowest = 0
    for place in range(1, len(counts)):
        if counts[place] < counts[lowest]:
            lowest = place
        valley, top = int(counts[lowest]), int(counts[place])
        lower = min(int(counts[peak]), top)
        # Three standard deviations of both counts.
        if lowest > peak and valley < VALLEY * lower and lower - valley > 3 * math.sqrt(lower + valley):
            result.append(lowest)
            peak = lowest = place
        elif counts[place] > counts[peak]:
            peak = lowest = place
    return result
