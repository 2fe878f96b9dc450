"""The place and the size of a step, robust against single stray values."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from becalm.stats.arrays import Floats
from becalm.stats.step_evidence import ANY_DRIFT, size_of_step

BOUND = 3.0
"""The distance in standard deviations beyond which a distance counts as that."""

FAR = 5.0
"""The distance in standard deviations beyond which a value fits no level, wherever it lies."""

EVEN = 1.0
"""The largest difference in misfit of two places that count as equally likely. The later one is reported, so that a
stray session before a step is not one of its values."""

NEAR = 3
"""The least number of values by which a step may lie earlier or later than where it was detected."""

MOST = 20
"""The most values on each side of a step from which its size is computed."""


def bound_around(values: Floats, middle: Floats | float, bound: Floats | float) -> Floats:
    """Return the values, limited to the middle plus or minus the bound."""
    return middle + np.minimum(np.maximum(values - middle, -bound), bound)


def place_of_step(values: Floats, commits: Floats, core: float, detected: int, after: int) -> int:
    """Return the most likely place of a step between two commits: the split with the least misfit.

    Arguments:
        values, commits: of the level before the step and of later rows, shape (n,).
        core: standard deviation of a value.
        detected: place where it was detected.
        after: number of values after that place with which it was detected.
    """
    near = max(NEAR, after)
    misfits = {
        place: _misfit(values[:place], core) + _misfit(values[place:], core)
        for place in range(max(2, detected - near), min(len(values) - 1, detected + near + 1))
        if commits[place] != commits[place - 1]
    }
    least = min(misfits.values(), default=0.0)
    return max((place for place, misfit in misfits.items() if misfit <= least + EVEN), default=detected)


def interval_of_step(left: Floats, right: Floats, core: float, share: float = 0.95) -> tuple[float, float, float]:
    """Return the size of a step and its interval, from the values on both sides of it, at least two on one side.

    Values are bounded about the median of their side. Drift counts as far as the values themselves show it.
    """
    sides = [side[-MOST:] if side is left else side[:MOST] for side in (left, right)]
    bounded_sides = [bound_around(side, float(np.median(side)), BOUND * core) for side in sides]
    values = np.concatenate(bounded_sides)
    size, error, freedom = size_of_step(values - values.mean(), len(bounded_sides[0]), core, 2.0, ANY_DRIFT)
    half_width = error * float(stdtrit(max(2.0, freedom), (1 + share) / 2))
    return size, size - half_width, size + half_width


def _misfit(values: Floats, core: float) -> float:
    """Return the misfit of values to one level: the sum of squares, each of which is at most the square of `FAR`
    deviations."""
    distances = (values - np.median(values)) / core
    return float(np.minimum(np.square(distances), FAR**2).sum())
