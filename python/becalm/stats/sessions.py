"""Comparing with runs of other times: how far sessions of the same program shift, from those that were repeated.

A session is all that was measured in a row. Its runs tell how well *it* is known (`becalm.stats.unpaired`), and nothing
of the next one: memory layout, temperature and neighbours are drawn anew for each. Where a side has several sessions,
they are the unit, not their runs: k sessions are k values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from becalm.stats.arrays import Floats, level, series
from becalm.stats.effective_sample_size import mean_error
from becalm.stats.huber import location
from becalm.stats.power import detectable
from becalm.stats.suite_spread import SuiteSpread


@dataclass(frozen=True, slots=True)
class SessionsEstimate:
    """log(candidate / reference) of sessions; all but `df` and `p_value` in log units.

    `between`: standard deviation from one session to the next of the same program, what their runs leave unsure
    included. `detectable`: the true difference that would have been called with probability 0.8.
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    between: float
    detectable: float
    p_value: float
    df: float


def places(side: Sequence[npt.ArrayLike]) -> Floats:
    """Return the Huber location of each session of a side, shape (sessions,). Raises ValueError as `over_sessions`."""
    return np.array([location(series(session, "A session")).estimate for session in side])


def over_sessions(
    reference: Sequence[npt.ArrayLike],
    candidate: Sequence[npt.ArrayLike],
    alpha: float = 0.05,
    suite: SuiteSpread | None = None,
) -> SessionsEstimate:
    """Difference of two groups of sessions, each a series of log times, shape (n,), in the order it was run.

    Student's two-sample t of the sessions' Huber locations with a common variance, since sessions of both sides shift
    alike and there are few; with one session on a side it is the prediction of a further one. The standard error is
    never below what the runs alone leave unsure, so that sessions that agree by chance prove nothing. With the spread
    of a `suite` the variance is moderated by its other benchmarks', and t has the tails that these have. Raises
    ValueError when no side has two sessions, and for an empty series or one of something else than finite numbers.
    """
    level(alpha)
    groups = [[location(series(each, "A session")) for each in side] for side in (reference, candidate)]
    counts = [len(side) for side in groups]
    df = sum(counts) - 2
    if min(counts) < 1 or df < 1:
        raise ValueError(f"{counts[0]} and {counts[1]} sessions: one side needs two to tell how far they shift.")
    group = [np.array([each.estimate for each in side]) for side in groups]
    estimate = float(group[1].mean() - group[0].mean())
    if suite is None:
        freedom = float(df)
        variance = sum(float(((side - side.mean()) ** 2).sum()) for side in group) / df
        error = math.sqrt(variance * sum(1 / count for count in counts))
    else:
        freedom, variance, error = suite.freedom, suite.variance(group)[1], suite.error(group)
    within = math.sqrt(sum((mean_error(each.influence)[0] / len(side)) ** 2 for side in groups for each in side))
    # A session of one run says nothing of itself: its own error is in the distance to the others.
    error = max(error, within if math.isfinite(within) else 0.0)
    critical = float(stdtrit(freedom, 1 - alpha / 2))
    p_value = 2 * float(stdtr(freedom, -abs(estimate) / error)) if error > 0 else float(estimate == 0)
    return SessionsEstimate(
        estimate=estimate,
        low=estimate - critical * error,
        high=estimate + critical * error,
        standard_error=error,
        between=math.sqrt(variance),
        detectable=detectable(error, critical),
        p_value=p_value,
        df=freedom,
    )


def over_references(
    reference: npt.ArrayLike,
    candidate: npt.ArrayLike,
    unchanged: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]],
    alpha: float = 0.05,
) -> SessionsEstimate:
    """Difference of one session each, where programs that never change were measured in both.

    `unchanged`: log times of each of these in the reference's and in the candidate's session. By how much they differ
    is all shift: its variance is the mean of their squares, with as many degrees of freedom as there are, since its
    mean is known to be 0; what the runs of `reference` and `candidate` leave unsure is added. Programs are taken to
    shift alike. Raises ValueError without such programs, and for an empty series or one of something else than finite
    numbers.
    """
    level(alpha)
    if not unchanged:
        raise ValueError("No program that never changes was measured in both sessions.")
    moved = [_place(later, "A session")[0] - _place(earlier, "A session")[0] for earlier, later in unchanged]
    (one, first), (other, second) = _place(reference, "A session"), _place(candidate, "A session")
    df, variance = len(moved), sum(each * each for each in moved) / len(moved)
    error = math.sqrt(variance + first**2 + second**2)
    critical, estimate = float(stdtrit(df, 1 - alpha / 2)), other - one
    return SessionsEstimate(
        estimate=estimate,
        low=estimate - critical * error,
        high=estimate + critical * error,
        standard_error=error,
        # A difference of two sessions has twice the variance of one.
        between=math.sqrt(variance / 2),
        detectable=detectable(error, critical),
        p_value=2 * float(stdtr(df, -abs(estimate) / error)) if error > 0 else float(estimate == 0),
        df=df,
    )


def _place(values: npt.ArrayLike, name: str) -> tuple[float, float]:
    """Huber location of a session and its standard error, 0 where its runs say nothing of that."""
    found = location(series(values, name))
    error = mean_error(found.influence)[0]
    return found.estimate, error if math.isfinite(error) else 0.0
