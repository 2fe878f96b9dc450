"""Where a step lies and how large it is: nothing that one stray value can move."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from becalm.stats.arrays import Floats
from becalm.stats.step_evidence import ANY_DRIFT, size_of_step

BOUND = 3.0
"""Standard deviations beyond which a distance counts as so many."""

FAR = 5.0
"""Standard deviations beyond which a value fits no level, wherever it lies."""

EVEN = 1.0
"""The largest difference in misfit of two places that count as equally likely. The later one is reported, so that a
stray session before a step is not one of its values."""

NEAR = 3
"""Values by which a step may lie earlier or later than where it was seen, at least."""

MOST = 20
"""Values on each side of a step from which its size is computed."""


def bounded_to(values: Floats, middle: Floats | float, bound: Floats | float) -> Floats:
    """Return the values, those farther from the middle than the bound moved to it."""
    return middle + np.minimum(np.maximum(values - middle, -bound), bound)


def place_of_step(values: Floats, commits: Floats, core: float, seen: int, after: int) -> int:
    """Return where between two commits a step is most likely: the split with the least misfit.

    Arguments:
        values, commits: of the level before the step and of what came after it, shape (n,).
        core: standard deviation of a value.
        seen: where it showed.
        after: how many values after that place it was seen with.
    """
    near = max(NEAR, after)
    rests = {
        place: _misfit(values[:place], core) + _misfit(values[place:], core)
        for place in range(max(2, seen - near), min(len(values) - 1, seen + near + 1))
        if commits[place] != commits[place - 1]
    }
    least = min(rests.values(), default=0.0)
    return max((place for place, rest in rests.items() if rest <= least + EVEN), default=seen)


def interval_of_step(left: Floats, right: Floats, core: float, share: float = 0.95) -> tuple[float, float, float]:
    """Return the size of a step and its interval, from the values on both sides of it, two of one side at least.

    Values are bounded about the median of their side. Drift counts as far as the values themselves show it.
    """
    sides = [side[-MOST:] if side is left else side[:MOST] for side in (left, right)]
    clean = [bounded_to(side, float(np.median(side)), BOUND * core) for side in sides]
    values = np.concatenate(clean)
    size, error, freedom = size_of_step(values - values.mean(), len(clean[0]), core, 2.0, ANY_DRIFT)
    reach = error * float(stdtrit(max(2.0, freedom), (1 + share) / 2))
    return size, size - reach, size + reach


def _misfit(values: Floats, core: float) -> float:
    """Return how badly values fit one level: the sum of squares, each of which counts as at most `FAR` deviations."""
    distances = (values - np.median(values)) / core
    return float(np.minimum(np.square(distances), FAR**2).sum())
