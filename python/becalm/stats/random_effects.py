"""The joint result of several hosts: estimates with their own errors, and a difference from host to host.

y_i = mu + u_i + e_i with e_i of the known standard error s_i and u_i of the unknown standard deviation tau between
hosts. Hosts are the unit: however well each is measured, k hosts are k values. tau^2 is Paule & Mandel's (1982, J. Res.
Natl. Bur. Stand. 87:377), which needs no normal distribution; the interval of mu is that of Hartung & Knapp (2001,
Stat. Med. 20:3875) and Sidik & Jonkman (2002, Stat. Med. 21:3153), Student's with k - 1 degrees of freedom, with its
variance at least that of the usual formula (Röver, Knapp & Friede 2015, BMC Med. Res. Methodol. 15:99), since hosts
that agree by chance would otherwise make it too short. DerSimonian & Laird's (1986) normal interval, which is better
known, misses the truth in up to 30 % for three hosts (docs/explanation/statistics.md, `bench/hosts.py`).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, stdtrit

from becalm.stats.arrays import Floats, level, series
from becalm.stats.root_finding import root


class Combined(msgspec.Struct, frozen=True):
    """The combined estimate of several hosts, in the unit of their estimates (logarithms for ratios).

    - `low`, `high`: the interval of the mean over all hosts of this kind, of which these are a sample; infinite for one
      host.
    - `between`: tau.
    - `next_low`, `next_high`: the interval for the estimate of one more such host, measured as well as these. It is
      Student's prediction from the values as they are: intervals for the host's true value that depend on tau (Higgins,
      Thompson & Spiegelhalter 2009, J. R. Stat. Soc. A 172:137) missed it in up to 14 %.
    - `q_p`: Cochran's test that all hosts have one value.
    - `weights`: the share of each host in the estimate, shape (k,).
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    between: float
    next_low: float
    next_high: float
    q_p: float
    weights: tuple[float, ...]


def combine(estimates: npt.ArrayLike, errors: npt.ArrayLike, alpha: float = 0.05) -> Combined:
    """Return the combination of estimates and standard errors of k hosts, shape (k,) each.

    An error of zero is allowed: the value of that host is known exactly. Raises ValueError for series of different
    length, values that are not finite, or negative errors.
    """
    y, s = series(estimates, "The estimates"), series(errors, "The standard errors")
    if len(y) != len(s) or (s < 0).any():
        raise ValueError(f"{len(y)} estimates need as many standard errors, none of them negative: {s}.")
    level(alpha)
    # No error counts as less than a billionth of the largest distance, which keeps the weights finite.
    floor = 1e-9 * max(float(np.ptp(y)), float(s.max()), 1e-100)
    variance = np.maximum(s, floor) ** 2
    k = len(y)
    tau_square = _paule_mandel(y, variance)
    weights, mean = _weighted_mean(y, variance + tau_square)
    total = float((1 / (variance + tau_square)).sum())
    if k == 1:
        return Combined(float(y[0]), -math.inf, math.inf, float(s[0]), 0.0, -math.inf, math.inf, 1.0, (1.0,))
    q = float(((y - mean) ** 2 / (variance + tau_square)).sum()) / (k - 1)
    error = math.sqrt(max(1.0, q) / total)
    critical = float(stdtrit(k - 1, 1 - alpha / 2))
    half_width, middle = critical * error, float(y.mean())
    prediction_half_width = critical * float(y.std(ddof=1)) * math.sqrt(1 + 1 / k)
    return Combined(
        estimate=mean,
        low=mean - half_width,
        high=mean + half_width,
        standard_error=error,
        between=math.sqrt(tau_square),
        next_low=middle - prediction_half_width,
        next_high=middle + prediction_half_width,
        q_p=float(chdtrc(k - 1, _spread(y, variance))),
        weights=tuple(float(weight) for weight in weights),
    )


def _weighted_mean(y: Floats, variance: Floats) -> tuple[Floats, float]:
    weights = (1 / variance) / float((1 / variance).sum())
    return weights, float(weights @ y)


def _spread(y: Floats, variance: Floats) -> float:
    """Return Cochran's Q: k - 1 on average when the variances are the true ones."""
    _, mean = _weighted_mean(y, variance)
    return float(((y - mean) ** 2 / variance).sum())


def _paule_mandel(y: Floats, variance: Floats) -> float:
    """Return the tau^2 at which Q has its expected value, k - 1; 0 when the hosts differ by no more than their
    errors."""
    degrees = len(y) - 1
    if degrees == 0 or _spread(y, variance) <= degrees:
        return 0.0
    # Q falls with tau^2 and is below k - 1 when tau^2 alone explains all squares.
    most = float(((y - y.mean()) ** 2).sum()) / degrees * 2 + float(variance.max())
    return root(lambda tau: _spread(y, variance + tau) - degrees, 0.0, most, 1e-9 * most)
