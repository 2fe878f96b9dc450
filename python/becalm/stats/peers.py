"""The machines that differ from their peers: robust centre and scale, one-sided tests, false discovery rate.

Machine i has an estimate x_i with a standard error v_i, known from a few loops only. Machines differ by nature with a
standard deviation tau, which the peers themselves determine: the empirical null (Efron 2004, J. Am. Stat. Assoc.
99:96). The centre is the median; tau makes the robust scale of (x - centre) / sqrt(tau^2 + v^2) one, so that odd
machines have no influence as long as they are the minority. Excesses are judged by Student's t with Satterthwaite's
(1946) degrees of freedom, since neither v nor the scale is known exactly, and by Benjamini & Hochberg's (1995, J. R.
Stat. Soc. B 57:289) procedure. `bench/survey.py` measures its rate with 10,000 machines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr, stdtrit

from becalm.stats.arrays import Floats, level, series
from becalm.stats.root_finding import root

LEAST_PEERS = 6
"""The fewest machines of a kind that are compared: five others must show what is usual."""

EXACT = 300
"""The most machines for which Qn is computed from all pairs; beyond, the median absolute deviation is precise
enough."""

QN = 2.2219
"""The factor that makes Qn the standard deviation of a normal sample (Rousseeuw & Croux 1993, J. Am. Stat. Assoc.
88:1273)."""

BORROWED = 2.0
"""The factor by which a standard error gains degrees of freedom when its lower limit is its peers' median. The limit
removes errors that are too small by chance, which cause the tails of Student's t. Found by simulation
(bench/survey.py)."""

QN_EFFICIENCY = 0.82
MAD_EFFICIENCY = 0.37
MEDIAN_EFFICIENCY = 2 / math.pi


class Peers(msgspec.Struct, frozen=True):
    """A group of machines: `centre`, `centre_error`, `between` (tau), and the distance of each machine from the centre.

    `p_value`: one-sided, of a usual machine being so far above the centre; shape (n,), as `excess`. All NaN in a group
    that is too small, where `between` is NaN, too.
    """

    centre: float
    centre_error: float
    between: float
    excess: Floats
    p_value: Floats


def robust_scale(values: Floats) -> float:
    """Return the standard deviation of a normal sample, shape (n,), robust against a minority of its values: Qn, or the
    MAD of large samples."""
    count = len(values)
    if count > EXACT:
        return float(np.median(np.abs(values - np.median(values)))) / float(ndtri(0.75))
    distances = np.abs(values[:, None] - values)[np.triu_indices(count, 1)]
    half = count // 2 + 1
    return QN * float(np.partition(distances, half * (half - 1) // 2 - 1)[half * (half - 1) // 2 - 1])


def peers(values: npt.ArrayLike, errors: npt.ArrayLike, loops: npt.ArrayLike, *, unlike: bool = False) -> Peers:
    """Return the comparison of machines of one kind with each other.

    Arguments:
        values: estimates, shape (n,).
        errors: their standard errors, shape (n,).
        loops: number of independent values from which each standard error was computed, shape (n,) or one number, >= 2.
        unlike: their spreads differ by nature, so that a large standard error is not chance.

    Raises ValueError for shapes that do not fit, or values that are not finite.
    """
    x, v = series(values, "The estimates"), series(errors, "The standard errors")
    counts = np.broadcast_to(np.asarray(loops, dtype=np.float64), x.shape)
    if len(v) != len(x) or (v < 0).any() or (counts < 2).any():
        raise ValueError(
            f"{len(x)} machines need as many standard errors, none of them negative, from at least two loops each."
        )
    centre = float(np.median(x))
    excess = x - centre
    # Estimates of skewed values are large just where their errors seem small (Student's t of a skewed sample), so no
    # machine counts as known better than the usual one of its kind. Where they are unlike, one that is known worse has
    # only its own loops.
    borrowed = np.where(v <= np.median(v), BORROWED, 1.0 if unlike else BORROWED)
    v = np.maximum(v, np.median(v))
    if len(x) < LEAST_PEERS:
        nothing = np.full(len(x), math.nan)
        return Peers(centre, math.nan, math.nan, excess, nothing)
    tau_square = _between(excess, v)
    total = tau_square + v * v
    efficiency = QN_EFFICIENCY if len(x) <= EXACT else MAD_EFFICIENCY
    # A median of values with different variances; their harmonic mean is that of the most precise.
    centre_variance = 1 / MEDIAN_EFFICIENCY / float((1 / np.maximum(total, 1e-300)).sum())
    share = np.divide(v * v, total, out=np.zeros_like(v), where=total > 0)
    freedom = 1 / (share**2 / (borrowed * (counts - 1)) + 1 / (efficiency * (len(x) - 1)))
    distance = np.sqrt(total + centre_variance)
    z = np.divide(excess, distance, out=np.zeros_like(excess), where=distance > 0)
    return Peers(centre, math.sqrt(centre_variance), math.sqrt(tau_square), excess, np.asarray(stdtr(freedom, -z)))


def _between(excess: Floats, errors: Floats) -> float:
    """Return tau^2; 0 when the machines differ by no more than their errors."""

    def beyond(tau_square: float) -> float:
        total = np.sqrt(tau_square + errors * errors)
        return robust_scale(np.divide(excess, total, out=np.zeros_like(excess), where=total > 0)) - 1.0

    excess_scale = robust_scale(excess)
    if excess_scale == 0.0 or (errors.min() > 0 and beyond(0.0) <= 0.0):
        return 0.0
    upper = 4 * excess_scale**2 + float(errors.max()) ** 2
    return (
        root(beyond, 1e-9 * excess_scale**2, upper, 1e-6 * excess_scale**2)
        if beyond(1e-9 * excess_scale**2) > 0
        else 0.0
    )


def selected_intervals(
    group: Peers, errors: Floats, loops: Floats, selected: int, tests: int, rate: float
) -> tuple[Floats, Floats]:
    """Return the ends of the intervals of each machine's excess over the centre, shape (n,) each.

    Of the intervals of the `selected` machines out of `tests`, on average at most the share `rate` misses the truth,
    although they were selected for being large (Benjamini & Yekutieli 2005, J. Am. Stat. Assoc. 100:71).
    """
    alpha = level(rate) * max(1, selected) / max(1, tests)
    error = np.sqrt(errors**2 + (0.0 if math.isnan(group.centre_error) else group.centre_error**2))
    half_width = np.asarray(stdtrit(loops - 1, 1 - min(alpha, rate) / 2)) * error
    return group.excess - half_width, group.excess + half_width


def loop_estimates(log_times: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the location and spread of each machine from loops of runs, shape (machines, loops, runs), of log times.

    Returns location, its standard error, logarithm of the spread, its standard error, shape (machines,) each. Location
    is the trimmed mean over loops of their medians; spread that of the logarithms of their standard deviations, so that
    slow drift, outliers and disturbed loops count, but do not decide. At least two loops of two runs are needed.
    """
    medians = np.median(log_times, axis=2)
    # Times that are alike to a millionth cannot be told apart by the clock, but need a finite logarithm.
    spreads = np.log(np.maximum(log_times.std(axis=2, ddof=1), 1e-6))
    return (*_trimmed(medians), *_trimmed(spreads))


def loop_memory(log_times: Sequence[Floats]) -> float:
    """Return the autocorrelation of neighbouring loops' medians, of all machines of a kind together, at least 0.

    Each array is (loops, runs). A few loops of one machine cannot show the autocorrelation, but the loops of its peers
    can: it is the mean of the machines' correlations at lag 1, without the bias that the estimated means cause
    (Marriott & Pope 1954, Biometrika 41:390). The variance of a mean of loops is (1 + r) / (1 - r) times as large.
    """
    machine_correlations, counts = [], []
    for time in log_times:
        medians = np.median(time, axis=1)
        residuals = medians - medians.mean()
        square = float(residuals @ residuals)
        if len(medians) >= LEAST_LOOPS and square > 0.0:
            machine_correlations.append(float(residuals[1:] @ residuals[:-1]) / square)
            counts.append(len(medians))
    if not machine_correlations:
        return 0.0
    loops = float(np.mean(counts))
    return min(max((float(np.mean(machine_correlations)) * loops + 1) / (loops - 3), 0.0), 0.9)


LEAST_LOOPS = 5
"""The fewest loops of a machine that say anything about their correlation."""

TRIMMED = 0.2
"""The share of loops left out at each end (Yuen 1974, Biometrika 61:165)."""


def trimmed_loops(loops: npt.ArrayLike) -> Floats:
    """Return the number of loops left after trimming, from which the standard errors of `loop_estimates` are
    computed."""
    counts = np.asarray(loops, dtype=np.float64)
    return np.asarray(counts - 2 * np.floor(TRIMMED * counts))


def _trimmed(values: Floats) -> tuple[Floats, Floats]:
    """Return the trimmed mean of each row and its standard error from the winsorised variance (Yuen 1974)."""
    ordered = np.sort(values, axis=1)
    count = values.shape[1]
    cut = int(TRIMMED * count)
    inner = ordered[:, cut : count - cut]
    ordered[:, :cut] = inner[:, :1]
    ordered[:, count - cut :] = inner[:, -1:]
    remaining = count - 2 * cut
    return inner.mean(axis=1), np.sqrt(ordered.var(axis=1, ddof=1) * (count - 1) / (remaining * (remaining - 1)))
