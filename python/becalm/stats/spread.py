"""How much less one set of runs varies than another: ratios of spreads from paired loops.

A loop makes k runs in a row of every arm, the arms in random order. A loop's spread is taken within its k runs, so a
drift from loop to loop is in none of them; what changes the whole loop (a busy neighbour, a hot afternoon) changes
both arms' spreads and cancels in the ratio. With d = log(spread of the first) - log(spread of the second) in one
loop, the coin that ordered the arms gives d - its mean a random sign when both are equally steady, whatever the noise:
the argument of `becalm.stats.paired`. So the interval is Student's over loops and the p value counts the signs; both
are wrong as often as stated on the noises of docs/reference/tune-report.md, where the F test is wrong up to nine times
in ten.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import fdtri, ndtr, polygamma, psi, stdtrit

from becalm.stats.arrays import Floats, level, medians_of, series
from becalm.stats.classical_tests import f_test, welch_t
from becalm.stats.effective_sample_size import mean_error
from becalm.stats.huber import NORMAL_MAD
from becalm.stats.power import MOST
from becalm.stats.time_series import autocorrelation

EXACT = 14
"""Most loops for which all signs are counted: 2^14 of them."""


@dataclass(frozen=True, slots=True)
class Estimator:
    """How the spread of runs in a row is estimated: `width` over `centre`, of loops of shape (loops, runs).

    `efficiency`: how many runs of s one run is worth for normal values. `bias`: mean of the logarithm for so many
    normal values whose true spread is 1. `f_interval`: whether the F distribution gives a ratio of two its interval.
    """

    centre: Callable[[Floats], Floats]
    width: Callable[[Floats], Floats]
    efficiency: float = 1.0
    bias: Callable[[int], float] = lambda _: 0.0
    f_interval: bool = False


@cache
def bias(runs: int) -> float:
    """Mean of log(s / sigma) for `runs` normal values: (digamma(nu / 2) - log(nu / 2)) / 2 with nu = runs - 1.

    s^2 nu / sigma^2 is chi squared, whose logarithm has the mean digamma(nu / 2) + log 2 (Bartlett & Kendall 1946,
    J. R. Stat. Soc. Suppl. 8:128).
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
"""Coefficient of variation: sample standard deviation over mean."""

MAD = Estimator(medians_of, _median_deviations, efficiency=0.37)
"""1.4826 times the median absolute deviation, over the median; 37 % as efficient as s for normal values (Rousseeuw &
Croux 1993, J. Am. Stat. Assoc. 88:1273)."""

RESOLUTION = 1.0
"""Times are whole nanoseconds; a rounded number is known to 1/sqrt(12) of a step (Sheppard 1898)."""

LARGEST = 700.0
"""exp of more overflows."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """first / second, from paired loops, with its interval.

    `p_value`: two-sided, of no difference. `sd`: standard deviation of one loop's log ratio. `detectable`: the true
    ratio above 1 that as many loops would have shown with probability 0.8. All are infinite (`low` 0) or nan where
    too little is known.
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
        """Loops that would show a true ratio of `ratio` (or 1 / ratio) with probability 0.8, in all.

        None when that is not known, or more than anyone makes. Raises ValueError for a ratio of 1 or not above 0.
        """
        if not ratio > 0.0 or ratio == 1.0:
            raise ValueError(f"A ratio to see is positive and not 1; {ratio} is neither spread nor change.")
        if not math.isfinite(self.sd):
            return None
        wanted, high = abs(math.log(ratio)), 2
        while self.sd * _effect(high, self.alpha) > wanted:
            high *= 2
            if high > MOST:
                return None
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.sd * _effect(middle, self.alpha) > wanted else (low, middle)
        return high


def loop_spread(times: npt.ArrayLike, estimator: Estimator = CV, resolution: float = RESOLUTION) -> float:
    """Spread of runs in a row, a fraction.

    Never below what rounding to `resolution` (the unit of `times`) makes, so that equal times are steady, not
    infinitely so. Raises ValueError for less than two runs, or times that are not positive.
    """
    x = series(times, "The times of a loop", 2)
    if x.min() <= 0.0:
        raise ValueError(f"Run times are positive; {x.min()} is not.")
    return float(_spreads(x[np.newaxis], estimator, resolution)[0])


def loop_spreads(
    loops: Sequence[npt.ArrayLike], estimator: Estimator = CV, resolution: float = RESOLUTION
) -> list[float]:
    """Return the `loop_spread` of each loop. Raises ValueError as it does, for the first loop that is refused."""
    if len({len(np.asarray(loop)) for loop in loops}) == 1:
        rows = np.array(loops, dtype=np.float64)
        if rows.ndim == 2 and rows.shape[1] >= 2 and np.isfinite(rows).all() and rows.min() > 0.0:
            spreads: list[float] = _spreads(rows, estimator, resolution).tolist()
            return spreads
    return [loop_spread(loop, estimator, resolution) for loop in loops]


def _spreads(loops: Floats, estimator: Estimator, resolution: float) -> Floats:
    """Return the spread of each loop of as many runs; shapes (loops, runs) and (loops,)."""
    return np.asarray(np.maximum(estimator.width(loops), resolution / math.sqrt(12)) / estimator.centre(loops))


@cache
def normal_sd(runs: int) -> float:
    """Standard deviation of log s for `runs` normal values: sqrt(trigamma(nu / 2)) / 2 (same source)."""
    return math.sqrt(float(polygamma(1, (runs - 1) / 2))) / 2


def log_spreads(loops: Sequence[npt.ArrayLike], estimator: Estimator = CV, resolution: float = RESOLUTION) -> Floats:
    """Logarithm of each loop's spread, shape (loops,), corrected for the bias of few runs."""
    spreads = loop_spreads(loops, estimator, resolution)
    return np.array(
        [math.log(value) - estimator.bias(len(np.asarray(loop))) for value, loop in zip(spreads, loops, strict=True)]
    )


def spread(
    loops: Sequence[npt.ArrayLike], estimator: Estimator = CV, alpha: float = 0.05, resolution: float = RESOLUTION
) -> tuple[float, float, float]:
    """Spread of a typical loop (geometric mean over loops), a fraction, with its interval.

    Student's over the loops' logarithms, with their effective number where they are found to resemble their
    neighbours; with one loop that of a normal sample. Raises ValueError as `loop_spread`, or without any loop.
    """
    level(alpha)
    if not loops:
        raise ValueError("A spread needs one loop of runs at least; there is none.")
    logs = log_spreads(loops, estimator, resolution)
    middle = float(logs.mean())
    if len(logs) == 1:
        # On the scale of the logarithm, where it is nearly normal; exact enough for a case that only --fast makes.
        reach = float(stdtrit(len(np.asarray(loops[0])) - 1, 1 - alpha / 2)) * normal_sd(len(np.asarray(loops[0])))
    else:
        # A few independent loops often look correlated; believing it would only make their interval wide.
        error, freedom = float(logs.std(ddof=1)) / math.sqrt(len(logs)), len(logs) - 1.0
        if autocorrelation(logs).found:
            error, freedom = mean_error(logs)
        reach = float(stdtrit(freedom, 1 - alpha / 2)) * error
    return _exp(middle), _exp(middle - reach), _exp(middle + reach)


def spread_ratio(
    first: Sequence[npt.ArrayLike],
    second: Sequence[npt.ArrayLike],
    estimator: Estimator = CV,
    alpha: float = 0.05,
    resolution: float = RESOLUTION,
) -> Ratio:
    """Spread of `first` over that of `second`: above 1, the second varies less. Loop i of both was one loop.

    With one loop the F interval, which holds for independent normal times only. Raises ValueError for sequences of
    different length, empty ones, and as `loop_spread`.
    """
    _paired(first, second)
    d = log_spreads(first, estimator, resolution) - log_spreads(second, estimator, resolution)
    if len(d) > 1:
        return ratio_of(d, alpha)
    x, y = np.asarray(first[0], dtype=np.float64), np.asarray(second[0], dtype=np.float64)
    sd = math.hypot(normal_sd(len(x)), normal_sd(len(y)))
    df = (len(x) - 1.0, len(y) - 1.0)
    value = loop_spread(x, estimator, resolution) / loop_spread(y, estimator, resolution)
    high, low = (float(fdtri(*df, share)) for share in (alpha / 2, 1 - alpha / 2))
    if not estimator.f_interval:
        # Nothing is said of it from one loop.
        return Ratio(value, 0.0, math.inf, 1.0, 1, sd / math.sqrt(estimator.efficiency), math.inf, alpha)
    tested = f_test(x / x.mean(), y / y.mean())
    p_value = 1.0 if value == 1.0 else tested.p_value
    return Ratio(value, value / math.sqrt(low), value / math.sqrt(high), p_value, 1, sd, f_detectable(df, alpha), alpha)


def f_detectable(df: tuple[float, float], alpha: float) -> float:
    """Ratio of standard deviations whose F exceeds the critical one with probability 0.8."""
    return math.sqrt(float(fdtri(*df, 1 - alpha / 2)) / float(fdtri(*df, 0.2)))


def mean_ratio(first: Sequence[npt.ArrayLike], second: Sequence[npt.ArrayLike], alpha: float = 0.05) -> Ratio:
    """Return the mean time of `first` over that of `second`, loops paired: above 1, the first is slower.

    It is the ratio of the means of all runs, as they are printed; its interval is Student's of the logarithm, from what
    each loop adds to it (the ratio estimator, linearised: Cochran 1977, Sampling Techniques, 6.4). With one loop
    Welch's interval of the logarithms. Raises ValueError as `spread_ratio`.
    """
    _paired(first, second)
    if len(first) > 1:
        x, y = (np.array([series(loop, "The times of a loop").mean() for loop in arm]) for arm in (first, second))
        before, after = (float(np.concatenate([np.asarray(loop) for loop in arm]).mean()) for arm in (first, second))
        # Around the ratio of the whole, so that loops of unequal lengths count as they do there.
        parts = math.log(before / after) + (x / before - y / after) - float(np.mean(x / before - y / after))
        return replace(ratio_of(parts, alpha), p_value=sign_flip(np.log(x / y)))
    x, y = (np.log(series(arm[0], "The times of a loop", 2)) for arm in (first, second))
    tested = welch_t(x, y)
    middle = float(x.mean() - y.mean())
    error = math.sqrt(float(x.var(ddof=1)) / len(x) + float(y.var(ddof=1)) / len(y))
    reach = float(stdtrit(tested.df[0], 1 - alpha / 2)) * error
    sd = error
    return Ratio(
        _exp(middle), _exp(middle - reach), _exp(middle + reach), tested.p_value, 1, sd, math.inf, level(alpha)
    )


def mean_time(loops: Sequence[Floats], alpha: float = 0.05) -> tuple[float, float, float]:
    """Mean time of all runs, with Student's interval over the loops' means; of one loop, over its runs."""
    values = np.log([loop.mean() for loop in loops] if len(loops) > 1 else loops[0])
    ratio = ratio_of(values, alpha)
    return float(np.concatenate(loops).mean()), ratio.low, ratio.high


def ratio_of(logs: npt.ArrayLike, alpha: float = 0.05) -> Ratio:
    """From the log ratio of each loop, shape (n,) with n >= 2: Student's interval, p value by flipping signs.

    All signs are counted up to EXACT loops, so that p is never below 2^(1-n); beyond, the self-normalised sum is
    normal (Efron 1969, J. Am. Stat. Assoc. 64:1278). Raises ValueError for less than two loops.
    """
    d = series(logs, "The log ratios", 2)
    count, middle, sd = len(d), float(d.mean()), float(d.std(ddof=1))
    reach = float(stdtrit(count - 1, 1 - level(alpha) / 2)) * sd / math.sqrt(count)
    return Ratio(
        _exp(middle),
        _exp(middle - reach),
        _exp(middle + reach),
        sign_flip(d),
        count,
        sd,
        _exp(sd * _effect(count, alpha)),
        alpha,
    )


def sign_flip(d: Floats) -> float:
    """Two-sided p value of a mean whose terms have random signs under the hypothesis (Fisher 1935)."""
    seen, size = abs(float(d.sum())), float(np.sqrt((d * d).sum()))
    if size == 0.0:
        return 1.0
    if len(d) > EXACT:
        return 2 * float(ndtr(-seen / size))
    # The first sign may stay: the sum of the mirrored signs is the same but for its own.
    sums = np.array([d[0]])
    for each in d[1:]:
        sums = np.concatenate((sums + each, sums - each))
    return float(np.mean(np.abs(sums) >= seen - 1e-12 * size))


def _effect(count: int, alpha: float) -> float:
    """Effect in standard deviations that Student's interval of `count` pairs shows with probability 0.8.

    (t(1 - alpha / 2) + t(0.8)) / sqrt(n): the noncentral t is near to it and fails at one degree of freedom.
    """
    return (float(stdtrit(count - 1, 1 - alpha / 2)) + float(stdtrit(count - 1, 0.8))) / math.sqrt(count)


def _paired(first: Sequence[npt.ArrayLike], second: Sequence[npt.ArrayLike]) -> None:
    if len(first) != len(second) or not first:
        raise ValueError(f"Loops must come in pairs, one at least; there are {len(first)} and {len(second)}.")


def _exp(value: float) -> float:
    return math.exp(value) if value < LARGEST else math.inf
