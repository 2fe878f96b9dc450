"""Comparisons with runs of another time: without pairs, each series accounts for its own drift."""

from __future__ import annotations

import math

import msgspec
import numpy.typing as npt

from becalm.stats.arrays import level, series
from becalm.stats.effective_sample_size import mean_error
from becalm.stats.huber import location
from becalm.stats.power import detectable
from becalm.stats.student import stdtr, stdtrit


class UnpairedEstimate(msgspec.Struct, frozen=True):
    """The estimate of log(candidate / reference) from two separate series; all but `df` and `p_value` in log units.

    `detectable`: the true difference that would have been detected with probability 0.8. `df`: degrees of freedom.
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    detectable: float
    p_value: float
    df: float


def unpaired(reference: npt.ArrayLike, candidate: npt.ArrayLike, alpha: float = 0.05) -> UnpairedEstimate:
    """Return the difference of Huber's locations of two series of log times, each shape (n,) in the order of running.

    Welch's test (1938, Biometrika 29:350) on the influence of each run, with the effective size of each series in place
    of its length. It cannot separate changes between the two sessions: another temperature, memory layout or neighbour
    counts as a difference. It is not corrected for repeated looks. Raises ValueError for an empty series, or values
    that are not finite numbers.
    """
    level(alpha)
    before = location(series(reference, "The reference's series of times"))
    after = location(series(candidate, "The candidate's series of times"))
    error_before, df_before = mean_error(before.influence)
    error_after, df_after = mean_error(after.influence)
    estimate, error = after.estimate - before.estimate, math.hypot(error_before, error_after)
    if not math.isfinite(error) or min(df_before, df_after) <= 0.0:
        return UnpairedEstimate(estimate, -math.inf, math.inf, math.inf, math.inf, 1.0, 0.0)
    if error == 0.0:
        return UnpairedEstimate(estimate, estimate, estimate, 0.0, 0.0, 0.0 if estimate else 1.0, math.inf)
    df = error**4 / (error_before**4 / df_before + error_after**4 / df_after)
    critical = float(stdtrit(df, 1 - alpha / 2))
    return UnpairedEstimate(
        estimate=estimate,
        low=estimate - critical * error,
        high=estimate + critical * error,
        standard_error=error,
        detectable=detectable(error, critical),
        p_value=2 * float(stdtr(df, -abs(estimate) / error)),
        df=df,
    )
