"""Huber's score: large values count only up to a bound (Huber 1964, Ann. Math. Stat. 35:73)."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from becalm.stats.arrays import Floats, clip, quantiles
from becalm.stats.root_finding import outward, root

BOUND = 1.345
"""The bound, in units of the scale, that is 95 % as efficient as the mean on normal data (Holland & Welsch 1977,
Commun. Stat. A 6:813)."""

NORMAL_MAD = 1.482602218505602
"""The standard deviation of a normal sample over its median absolute deviation: 1 / ndtri(3/4)."""

NORMAL_INNER = 2.563103131089201
"""The distance of the 10 % and the 90 % quantile of a normal distribution, in standard deviations."""


def psi(values: Floats) -> Floats:
    """Return Huber's score of values in units of their scale: the values limited to +-BOUND."""
    return clip(values, -BOUND, BOUND)


def scale(residuals: Floats) -> float:
    """Return the robust standard deviation about zero: the median absolute value, times NORMAL_MAD.

    Where half of all values are equal (a coarse clock) that would vanish, and every score become a sign. So it is at
    least a twentieth of the nine-tenths quantile, and a millionth of the mean.
    """
    size = np.abs(residuals)
    median, high = quantiles(size, 0.5, 0.9)
    return max(NORMAL_MAD * median, 0.05 * high, 1e-6 * (float(size.sum()) / len(size)))


class HuberLocation(msgspec.Struct, frozen=True):
    """Huber's M-estimate of location. `influence`: n times what each value adds to it; mean zero."""

    estimate: float
    influence: Floats


def location(values: Floats) -> HuberLocation:
    """Return the location at which the scores of `values` sum to zero, in units of the spread of their inner 80 %.

    The median absolute deviation would be the width of a single mode where a series has two, and the location would
    depend on which mode is a little larger.
    """
    low, middle, high = quantiles(values, 0.1, 0.5, 0.9)
    spread = max((high - low) / NORMAL_INNER, 1e-6 * float(np.abs(values - middle).mean()))
    if spread == 0.0:
        return HuberLocation(middle, np.zeros(len(values)))

    def score(place: float) -> float:
        return float(psi((values - place) / spread).sum())

    low, high = outward(score, middle, -spread), outward(lambda place: -score(place), middle, spread)
    estimate = root(score, low, high, 1e-12 * spread + 4 * math.ulp(middle))
    residuals = (values - estimate) / spread
    slope = max(int(np.count_nonzero(np.abs(residuals) < BOUND)), 1) / len(values)
    return HuberLocation(estimate, psi(residuals) * spread / slope)
