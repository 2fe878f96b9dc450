"""Variances that rest on few values, moderated by those of their peers.

Empirical Bayes as in Smyth 2004, Stat. Appl. Genet. Mol. Biol. 3:3, section 6.2: variances s_i^2 of d_i degrees of
freedom scatter as F(d_i, d_0) times s_0^2. Location and spread of their logarithms determine d_0 and s_0^2; here these
are median and median absolute deviation, so that odd peers have no influence (Phipson et al. 2016, Ann. Appl. Stat.
10:946).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from scipy.special import chdtri, ndtri, polygamma

from becalm.stats.arrays import Floats, median_of

PEERS = 5
"""The fewest variances that say anything about each other."""

MOST = 200.0
"""The largest degrees of freedom of peers: those that do not differ are known well, but never exactly."""

_WINSOR = 2.5
_KEPT = 0.97756
"""The variance of a standard normal variable whose values beyond 2.5 count as 2.5."""


class Prior(msgspec.Struct, frozen=True):
    """The evidence of peers on a variance: `value` with `freedom` degrees of freedom, 0 for none."""

    value: float = 1.0
    freedom: float = 0.0


def winsorised_variance(values: Floats) -> float:
    """Return the variance about zero of values that are normal except for a few, which count as 2.5 robust deviations.

    It is 0 if more than half of the values are zero.
    """
    size = np.abs(values)
    scale = median_of(size) / float(ndtri(0.75))
    return float(np.square(np.minimum(size, _WINSOR * scale)).mean()) / _KEPT


def prior_of(variances: Sequence[float], freedom: Sequence[float]) -> Prior:
    """Return the evidence of peers with these variances, all above 0, and degrees of freedom on one of them."""
    if len(variances) < PEERS:
        return Prior()
    half = np.asarray(freedom) / 2
    scatter = np.log(variances) - _middle(2 * half)
    middle = median_of(scatter)
    spread = (median_of(np.abs(scatter - middle)) / float(ndtri(0.75))) ** 2
    sampling_variance = float(np.mean(polygamma(1, half)))
    if spread <= sampling_variance:
        return Prior(math.exp(middle), MOST)
    between = min(MOST, 2 * _trigamma_inverse(spread - sampling_variance))
    return Prior(math.exp(middle + float(_middle(np.array(between)))), between)


def moderate(variance: float, freedom: float, prior: Prior) -> tuple[float, float]:
    """Return the variance from a benchmark's own values and its peers, and its degrees of freedom (Smyth's equation
    3)."""
    total = freedom + prior.freedom
    return (freedom * variance + prior.freedom * prior.value) / total, total


def _middle(freedom: Floats) -> Floats:
    """Return the median of the logarithm of a variance of these degrees of freedom whose true value is 1."""
    return np.log(chdtri(freedom, 0.5) / freedom)


def _trigamma_inverse(target: float) -> float:
    """Return the argument at which the trigamma function has this value, by Newton's iteration of Smyth's appendix."""
    x = 0.5 + 1 / target
    for _ in range(50):
        value = float(polygamma(1, x))
        step = value * (1 - value / target) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-8 * x:
            break
    return x
