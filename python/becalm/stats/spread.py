"""The ratio by which one set of runs varies less than another, from paired loops.

A loop makes k successive runs of every arm, the arms in random order. A loop's spread is that within its k runs, so a
drift from loop to loop is in none of them; a change of the whole loop (a busy neighbour, a hot afternoon) changes both
arms' spreads and cancels in the ratio. Let d = log(spread of the first) - log(spread of the second) in one loop. When
both are equally steady, the coin that ordered the arms gives d less its mean a random sign, whatever the noise is (see
`becalm.stats.paired`). So the interval is Student's over loops and the p value counts the signs; both have the stated
error rates on the noises of docs/reference/tune-report.md, where the F test is wrong up to nine times in ten.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace
from scipy.special import fdtri, ndtr, polygamma, psi, stdtrit

from becalm.stats.arrays import Floats, level, medians_of, series
from becalm.stats.classical_tests import f_test, welch_t
from becalm.stats.effective_sample_size import mean_error
from becalm.stats.huber import NORMAL_MAD
from becalm.stats.power import MOST
from becalm.stats.time_series import autocorrelation

EXACT = 14
"""The most loops for which all signs are counted: 2^14 of them."""


class Estimator(msgspec.Struct, frozen=True):
    """An estimator of the spread of successive runs: `width` over `centre`, for loops of shape (loops, runs).

    `efficiency`: the number of runs of s that one run is worth for normal values. `bias`: mean of the logarithm for a
    number of normal values whose true spread is 1. `f_interval`: whether the interval of a ratio of two follows from
    the F distribution.
    """

    centre: Callable[[Floats], Floats]
    width: Callable[[Floats], Floats]
    efficiency: float = 1.0
    bias: Callable[[int], float] = lambda _: 0.0
    f_interval: bool = False


@cache
def bias(runs: int) -> float:
    """Return the mean of log(s / sigma) for `runs` normal values: (digamma(nu / 2) - log(nu / 2)) / 2 with nu = runs -
    1.

    s^2 nu / sigma^2 is chi squared, whose logarithm has the mean digamma(nu / 2) + log 2 (Bartlett & Kendall 1946, J.
    R. Stat. Soc. Suppl. 8:128).
    """
    half = (runs - 1) / 2
    return (float(psi(half)) - math.log(half)) / 2


def _means(loops: Floats) -> Floats:
    return np.asarray(loops.mean(axis=1))


def _deviations(loops: Floats) -> Floats:
    return np.asarray(loops.std(axis=1, ddof=1))


def _median_deviations(loops: Floats) -> Floats:
    return NORMAL_MAD * medians_of(np.abs(loops - medians_of(loops)[:, np.newaxis]))


CV = Estimator(_means, _deviations, bias=bias, f_interval=True)
"""The coefficient of variation: sample standard deviation over mean."""

MAD = Estimator(medians_of, _median_deviations, efficiency=0.37)
"""1.4826 times the median absolute deviation, over the median; 37 % as efficient as s for normal values (Rousseeuw &
Croux 1993, J. Am. Stat. Assoc. 88:1273)."""

RESOLUTION = 1.0
"""The resolution of times in whole nanoseconds; a rounded number is known to 1/sqrt(12) of a step (Sheppard 1898)."""

LARGEST = 700.0
"""The largest exponent: exp of more overflows."""


class Ratio(msgspec.Struct, frozen=True):
    """The ratio first / second from paired loops, with its interval.

    - `p_value`: two-sided, for no difference
    - `sd`: the standard deviation of one loop's log ratio
    - `detectable`: the true ratio above 1 that as many loops would have shown with probability 0.8

    All are infinite (`low` 0) or nan where too little is known.
    """

    value: float
    low: float
    high: float
    p_value: float
    loops: int
    sd: float
    detectable: float
    alpha: float

    def loops_for(self, ratio: float) -> int | None:
        """Return the total number of loops that would show a true ratio of `ratio` (or 1 / ratio) with probability 0.8.

        None when that is not known, or impractically large. Raises ValueError for a ratio of 1 or not above 0.
        """
        if not ratio > 0.0 or ratio == 1.0:
            raise ValueError(f"A ratio to detect must be positive and not 1; {ratio} does not fit.")
        if not math.isfinite(self.sd):
            return None
        log_ratio, high = abs(math.log(ratio)), 2
        while self.sd * _effect(high, self.alpha) > log_ratio:
            high *= 2
            if high > MOST:
                return None
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.sd * _effect(middle, self.alpha) > log_ratio else (low, middle)
        return high


def loop_spread(times: npt.ArrayLike, estimator: Estimator = CV, resolution: float = RESOLUTION) -> float:
    """Return the spread of successive runs, shape (runs,), as a fraction.

    It is at least the error of rounding to `resolution` (in the unit of `times`), so that equal times are steady, not
    infinitely so. Raises ValueError for fewer than two runs, or times that are not positive.
    """
    x = series(times, "The times of a loop", 2)
    if x.min() <= 0.0:
        raise ValueError(f"Run times must be positive; {x.min()} is not.")
    return float(_spreads(x[np.newaxis], estimator, resolution)[0])


def loop_spreads(
    loops: Sequence[npt.ArrayLike], estimator: Estimator = CV, resolution: float = RESOLUTION
) -> list[float]:
    """Return the `loop_spread` of each loop. Raises ValueError as `loop_spread`, for the first loop that is invalid."""
    if len({len(np.asarray(loop)) for loop in loops}) == 1:
        rows = np.array(loops, dtype=np.float64)
        if rows.ndim == 2 and rows.shape[1] >= 2 and np.isfinite(rows).all() and rows.min() > 0.0:
            spreads: list[float] = _spreads(rows, estimator, resolution).tolist()
            return spreads
    return [loop_spread(loop, estimator, resolution) for loop in loops]


def _spreads(loops: Floats, estimator: Estimator, resolution: float) -> Floats:
    """Return the spread of each loop with equal numbers of runs; shapes (loops, runs) and (loops,)."""
    return np.asarray(np.maximum(estimator.width(loops), resolution / math.sqrt(12)) / estimator.centre(loops))


@cache
def normal_sd(runs: int) -> float:
    """Return the standard deviation of log s for `runs` normal values: sqrt(trigamma(nu / 2)) / 2 (same source as
    `bias`)."""
    return math.sqrt(float(polygamma(1, (runs - 1) / 2))) / 2


def log_spreads(loops: Sequence[npt.ArrayLike], estimator: Estimator = CV, resolution: float = RESOLUTION) -> Floats:
    """Return the logarithm of each loop's spread, shape (loops,), corrected for the bias of few runs."""
    spreads = loop_spreads(loops, estimator, resolution)
    return np.array(
        [math.log(value) - estimator.bias(len(np.asarray(loop))) for value, loop in zip(spreads, loops, strict=True)]
    )


def spread(
    loops: Sequence[npt.ArrayLike], estimator: Estimator = CV, alpha: float = 0.05, resolution: float = RESOLUTION
) -> tuple[float, float, float]:
    """Return the spread of a typical loop (geometric mean over loops), as a fraction, with its interval.

    The interval is Student's over the loops' logarithms, with their effective number where they are correlated; with
    one loop that of a normal sample. Raises ValueError as `loop_spread`, or without any loop.
    """
    level(alpha)
    if not loops:
        raise ValueError("A spread needs at least one loop of runs; there is none.")
    logs = log_spreads(loops, estimator, resolution)
    middle = float(logs.mean())
    if len(logs) == 1:
        # The interval is on the scale of the logarithm, where s is nearly normal; exact enough for a case that only
        # --fast has.
        half_width = float(stdtrit(len(np.asarray(loops[0])) - 1, 1 - alpha / 2)) * normal_sd(len(np.asarray(loops[0])))
    else:
        # A few independent loops often look correlated; trusting that would only make their interval wide.
        error, freedom = float(logs.std(ddof=1)) / math.sqrt(len(logs)), len(logs) - 1.0
        if autocorrelation(logs).detected:
            error, freedom = mean_error(logs)
        half_width = float(stdtrit(freedom, 1 - alpha / 2)) * error
    return _exp(middle), _exp(middle - half_width), _exp(middle + half_width)


def spread_ratio(
    first: Sequence[npt.ArrayLike],
    second: Sequence[npt.ArrayLike],
    estimator: Estimator = CV,
    alpha: float = 0.05,
    resolution: float = RESOLUTION,
) -> Ratio:
    """Return the spread of `first` over that of `second`: above 1, the second varies less. Loops are paired by index.

    With one loop the F interval, which holds for independent normal times only. Raises ValueError for sequences of
    different length, empty ones, and as `loop_spread`.
    """
    _check_pairs(first, second)
    d = log_spreads(first, estimator, resolution) - log_spreads(second, estimator, resolution)
    if len(d) > 1:
        return ratio_of(d, alpha)
    x, y = np.asarray(first[0], dtype=np.float64), np.asarray(second[0], dtype=np.float64)
    sd = math.hypot(normal_sd(len(x)), normal_sd(len(y)))
    df = (len(x) - 1.0, len(y) - 1.0)
    value = loop_spread(x, estimator, resolution) / loop_spread(y, estimator, resolution)
    high, low = (float(fdtri(*df, share)) for share in (alpha / 2, 1 - alpha / 2))
    if not estimator.f_interval:
        # A single loop gives no interval.
        return Ratio(value, 0.0, math.inf, 1.0, 1, sd / math.sqrt(estimator.efficiency), math.inf, alpha)
    test = f_test(x / x.mean(), y / y.mean())
    p_value = 1.0 if value == 1.0 else test.p_value
    return Ratio(value, value / math.sqrt(low), value / math.sqrt(high), p_value, 1, sd, f_detectable(df, alpha), alpha)


def f_detectable(df: tuple[float, float], alpha: float) -> float:
    """Return the ratio of standard deviations whose F exceeds the critical one with probability 0.8."""
    return math.sqrt(float(fdtri(*df, 1 - alpha / 2)) / float(fdtri(*df, 0.2)))


def mean_ratio(first: Sequence[npt.ArrayLike], second: Sequence[npt.ArrayLike], alpha: float = 0.05) -> Ratio:
    """Return the mean time of `first` over that of `second`, loops paired: above 1, the first is slower.

    It is the ratio of the means of all runs, as they are printed. Its interval is Student's of the logarithm, from each
    loop's contribution (the ratio estimator, linearised: Cochran 1977, Sampling Techniques, 6.4). With one loop Welch's
    interval of the logarithms. Raises ValueError as `spread_ratio`.
    """
    _check_pairs(first, second)
    if len(first) > 1:
        x, y = (np.array([series(loop, "The times of a loop").mean() for loop in arm]) for arm in (first, second))
        before, after = (float(np.concatenate([np.asarray(loop) for loop in arm]).mean()) for arm in (first, second))
        # The mean of the contributions is the overall ratio, so that loops of unequal lengths count as they do there.
        contributions = math.log(before / after) + (x / before - y / after) - float(np.mean(x / before - y / after))
        return replace(ratio_of(contributions, alpha), p_value=sign_flip(np.log(x / y)))
    x, y = (np.log(series(arm[0], "The times of a loop", 2)) for arm in (first, second))
    test = welch_t(x, y)
    middle = float(x.mean() - y.mean())
    error = math.sqrt(float(x.var(ddof=1)) / len(x) + float(y.var(ddof=1)) / len(y))
    half_width = float(stdtrit(test.df[0], 1 - alpha / 2)) * error
    sd = error
    return Ratio(
        _exp(middle), _exp(middle - half_width), _exp(middle + half_width), test.p_value, 1, sd, math.inf, level(alpha)
    )


def mean_time(loops: Sequence[Floats], alpha: float = 0.05) -> tuple[float, float, float]:
    """Return the mean time of all runs, with Student's interval over the loops' means; for one loop, over its runs."""
    values = np.log([loop.mean() for loop in loops] if len(loops) > 1 else loops[0])
    ratio = ratio_of(values, alpha)
    return float(np.concatenate(loops).mean()), ratio.low, ratio.high


def ratio_of(logs: npt.ArrayLike, alpha: float = 0.05) -> Ratio:
    """Return the ratio from the log ratio of each loop, shape (n,), n >= 2: Student's interval, p value by flipping
    signs.

    All signs are counted up to EXACT loops, so that p is at least 2^(1-n); beyond, the self-normalised sum is normal
    (Efron 1969, J. Am. Stat. Assoc. 64:1278). Raises ValueError for fewer than two loops.
    """
    d = series(logs, "The log ratios", 2)
    count, middle, sd = len(d), float(d.mean()), float(d.std(ddof=1))
    half_width = float(stdtrit(count - 1, 1 - level(alpha) / 2)) * sd / math.sqrt(count)
    return Ratio(
        _exp(middle),
        _exp(middle - half_width),
        _exp(middle + half_width),
        sign_flip(d),
        count,
        sd,
        _exp(sd * _effect(count, alpha)),
        alpha,
    )


def sign_flip(d: Floats) -> float:
    """Return the two-sided p value of a mean whose terms have random signs under the hypothesis (Fisher 1935)."""
    observed, size = abs(float(d.sum())), float(np.sqrt((d * d).sum()))
    if size == 0.0:
        return 1.0
    if len(d) > EXACT:
        return 2 * float(ndtr(-observed / size))
    # The first sign can be fixed: mirrored signs only change the sign of the sum.
    sums = np.array([d[0]])
    for term in d[1:]:
        sums = np.concatenate((sums + term, sums - term))
    return float(np.mean(np.abs(sums) >= observed - 1e-12 * size))


def _effect(count: int, alpha: float) -> float:
    """Return the effect in standard deviations that Student's interval of `count` pairs shows with probability 0.8.

    (t(1 - alpha / 2) + t(0.8)) / sqrt(n): the noncentral t is close to it and fails at one degree of freedom.
    """
    return (float(stdtrit(count - 1, 1 - alpha / 2)) + float(stdtrit(count - 1, 0.8))) / math.sqrt(count)


def _check_pairs(first: Sequence[npt.ArrayLike], second: Sequence[npt.ArrayLike]) -> None:
    if len(first) != len(second) or not first:
        raise ValueError(f"Loops must come in pairs, at least one; there are {len(first)} and {len(second)}.")


def _exp(value: float) -> float:
    return math.exp(value) if value < LARGEST else math.inf
