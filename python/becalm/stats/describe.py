"""The summary of one program's run times, with intervals that allow for autocorrelation."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, level, median_of, series
from becalm.stats.effective_sample_size import correlation_time, effective_size, mean_error
from becalm.stats.huber import NORMAL_MAD
from becalm.stats.power import runs_for_mean
from becalm.stats.root_finding import root
from becalm.stats.student import betainc, stdtrit


class Description(msgspec.Struct, frozen=True):
    """A summary of times, in their unit except `cv`, `robust_cv` (fractions) and `effective_n` (runs).

    The intervals of mean and median are at `confidence`; that of the coefficient of variation is a rough one
    (`cv_interval`). Where the values are too few, the ends are infinite (for the coefficient of variation: 0 and
    infinity). `robust_cv`: 1.4826 median absolute deviations over the median. `effective_n`: the number of independent
    runs that would determine the mean as well.
    """

    n: int
    mean: float
    mean_interval: tuple[float, float]
    median: float
    median_interval: tuple[float, float]
    sd: float
    cv: float
    cv_interval: tuple[float, float]
    robust_cv: float
    minimum: float
    maximum: float
    effective_n: float
    confidence: float

    def runs_for(self, relative: float) -> int | None:
        """Return the runs for a mean known to +-`relative` (0.01: 1 %) at `confidence`; None while the spread is
        unknown.

        See `becalm.stats.power.runs_for_mean`. Raises ValueError for a `relative` that is not positive.
        """
        if self.n < 2 or self.mean <= 0.0:
            return None
        return runs_for_mean(relative, self.cv, self.confidence, self.n / self.effective_n)


def describe(wall_ns: npt.ArrayLike, confidence: float = 0.95) -> Description:
    """Return the summary of one program's times in the order they were run; shape (n,), n >= 1, any unit.

    The mean's interval is Student's with the effective number of runs (`becalm.stats.effective_sample_size`); for
    values that are never negative it does not extend below zero. Raises ValueError for an empty series, values that are
    not finite numbers, or a confidence outside 0…1.
    """
    x = series(wall_ns, "The series of times")
    alpha = level(1.0 - confidence)
    mean, sd, median = float(x.mean()), float(x.std(ddof=1)) if len(x) > 1 else 0.0, median_of(x)
    error, freedom = mean_error(x)
    half_width = float(stdtrit(freedom, 1 - alpha / 2)) * error if len(x) > 1 else math.inf
    return Description(
        n=len(x),
        mean=mean,
        mean_interval=(
            max(mean - half_width, 0.0) if x.min() >= 0 and math.isfinite(half_width) else mean - half_width,
            mean + half_width,
        ),
        median=median,
        median_interval=median_interval(x, alpha),
        sd=sd,
        cv=sd / mean if mean else math.inf,
        cv_interval=cv_interval(x, alpha),
        robust_cv=NORMAL_MAD * median_of(np.abs(x - median)) / median if median else math.inf,
        minimum=float(x.min()),
        maximum=float(x.max()),
        effective_n=effective_size(x),
        confidence=confidence,
    )


def median_interval(x: Floats, alpha: float) -> tuple[float, float]:
    """Return the order statistics that enclose the median (Thompson 1936, Ann. Math. Stat. 7:122).

    For n independent values rank l is the largest with P(Bin(n, 1/2) < l) <= alpha / 2, which needs no assumption on
    their distribution. Correlated values count as the effective size of the series of signs about the median, and the
    rank is scaled to it; the binomial is continued between integers by the incomplete beta function.
    """
    count = len(x)
    independent_runs = effective_size(np.sign(x - median_of(x)))
    if betainc(independent_runs, 1.0, 0.5) > alpha / 2:
        return -math.inf, math.inf
    rank = root(
        lambda low: float(betainc(independent_runs - low + 1, low, 0.5)) - alpha / 2,
        1.0,
        independent_runs / 2 + 0.5,
        1e-9,
    )
    ordered = np.sort(x)
    index = max(math.floor(rank * (count + 1) / (independent_runs + 1) + 1e-6) - 1, 0)
    return float(ordered[index]), float(ordered[count - 1 - index])


CORRELATED, LEAST_WORTH = 2.0, 20.0
"""The correlation time from which a series counts as correlated, and the number of independent runs that it must then
be worth for its spread to be known at all; by simulation, bench/coverage.py."""


LARGEST = 700.0
"""The largest exponent: exp of more overflows."""

FARTHEST = 10.0
"""The largest ratio of an upper end to the estimate; beyond it the coefficient of variation has no interval."""


def cv_interval(x: Floats, alpha: float) -> tuple[float, float]:
    """Return a rough interval of the coefficient of variation, on its logarithm.

    The variance of log s is (kurtosis - (m - 3) / m) / 4 (m - 1) with a kurtosis about the trimmed mean (Bonett 2006,
    Comput. Stat. Data Anal. 50:775), which detects heavy tails earlier than one about the mean. m is the number of runs
    that are independent for a spread: by the correlation time of the influence function (z^2 - 1) / 2 - cv z with z =
    (x - mean) / s. The upper end allows for the variance of the mean, which s of a correlated series misses.

    It has the stated level for normal and bimodal times, and for correlated ones that last many times their memory;
    correlated ones worth fewer than 20 independent runs have none (0 and infinity), nor do others whose upper end would
    exceed FARTHEST times the estimate. It cannot have it for tails so heavy that the runs which make the spread did not
    occur, so no level is reported (docs/explanation/statistics.md).
    """
    count, mean = len(x), float(x.mean())
    spread = float(x.std(ddof=1)) if count > 1 else 0.0
    if count < 3 or mean <= 0.0:
        return 0.0, math.inf
    if spread == 0.0:
        return 0.0, 0.0
    z, cv = (x - mean) / spread, spread / mean
    time = correlation_time(x)
    if time >= CORRELATED and count / time < LEAST_WORTH:
        return 0.0, math.inf
    independent_runs = count / max(correlation_time((z * z - 1.0) / 2.0 - cv * z), (time + 1.0) / 2.0)
    cut = min((count - 1) // 2, max(1, int(count / (2.0 * math.sqrt(max(count - 4.0, 1.0))))))
    middle = float(np.sort(x)[cut : count - cut].mean())
    kurtosis = count * float(((x - middle) ** 4).sum()) / float(((x - mean) ** 2).sum()) ** 2
    freedom = max(independent_runs - 1.0, 1.0)
    half_width = float(stdtrit(freedom, 1 - alpha / 2)) * math.sqrt(
        max(kurtosis - (independent_runs - 3) / independent_runs, 0.1) / (4 * freedom)
    )
    correction = 1.0 / math.sqrt(1.0 - min(time / count, 0.5))
    if not correction * math.exp(min(half_width, LARGEST)) < FARTHEST:
        return 0.0, math.inf
    return cv * math.exp(-half_width), cv * correction * math.exp(half_width)
