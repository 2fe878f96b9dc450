"""Comparisons with runs of other times: how far sessions of the same program shift, from repeated sessions.

A session is everything that was measured in one sequence. Its runs determine its own error (`becalm.stats.unpaired`),
but say nothing about the next session: memory layout, temperature and neighbours are drawn anew for each. Where a side
has several sessions, they are the unit, not their runs: k sessions are k values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from becalm.stats.arrays import Floats, level, series
from becalm.stats.effective_sample_size import mean_error
from becalm.stats.huber import location
from becalm.stats.power import detectable
from becalm.stats.suite_spread import SuiteSpread


class SessionsEstimate(msgspec.Struct, frozen=True):
    """The estimate of log(candidate / reference) from sessions; all but `df` and `p_value` in log units.

    `between`: standard deviation from one session to the next of the same program, including the errors from their
    runs. `detectable`: the true difference that would have been detected with probability 0.8.
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    between: float
    detectable: float
    p_value: float
    df: float


def locations(side: Sequence[npt.ArrayLike]) -> Floats:
    """Return the Huber location of each session of a side, shape (sessions,). Raises ValueError as `over_sessions`."""
    return np.array([location(series(session, "A session")).estimate for session in side])


def over_sessions(
    reference: Sequence[npt.ArrayLike],
    candidate: Sequence[npt.ArrayLike],
    alpha: float = 0.05,
    suite: SuiteSpread | None = None,
) -> SessionsEstimate:
    """Return the difference of two groups of sessions, each a series of log times, shape (n,), in the order of running.

    Student's two-sample t of the sessions' Huber locations with a common variance, since sessions of both sides shift
    alike and there are few; with one session on a side it is the prediction of a further one. The standard error is at
    least that from the runs alone, so that sessions that agree by chance prove nothing. With the spread of a `suite`
    the variance is moderated by its other benchmarks', and t has their tails. Raises ValueError when no side has two
    sessions, and for an empty series or values that are not finite numbers.
    """
    level(alpha)
    groups = [[location(series(session, "A session")) for session in side] for side in (reference, candidate)]
    counts = [len(side) for side in groups]
    df = sum(counts) - 2
    if min(counts) < 1 or df < 1:
        raise ValueError(
            f"To estimate the shift between sessions, one side needs at least two; there are {counts[0]} and "
            f"{counts[1]}."
        )
    side_locations = [np.array([session_location.estimate for session_location in side]) for side in groups]
    estimate = float(side_locations[1].mean() - side_locations[0].mean())
    if suite is None:
        freedom = float(df)
        variance = sum(float(((side - side.mean()) ** 2).sum()) for side in side_locations) / df
        error = math.sqrt(variance * sum(1 / count for count in counts))
    else:
        freedom, variance, error = suite.freedom, suite.variance(side_locations)[1], suite.error(side_locations)
    within = math.sqrt(
        sum(
            (mean_error(session_location.influence)[0] / len(side)) ** 2 for side in groups for session_location in side
        )
    )
    # The error of a session with a single run is not known from itself, but contained in its distance to the others.
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
    """Return the difference of one session from another, where programs that never change were measured in both.

    `reference`, `candidate`: log times, shape (n,), in the order of running. `unchanged`: log times of each unchanging
    program in the reference's and in the candidate's session. All of their differences are shift: its variance is the
    mean of their squares, with as many degrees of freedom as programs, since its mean is known to be 0; the errors from
    the runs of `reference` and `candidate` are added. Programs are assumed to shift alike. Raises ValueError without
    such programs, and for an empty series or values that are not finite numbers.
    """
    level(alpha)
    if not unchanged:
        raise ValueError("No program that never changes was measured in both sessions.")
    shifts = [
        _location_and_error(later, "A session")[0] - _location_and_error(earlier, "A session")[0]
        for earlier, later in unchanged
    ]
    (reference_location, reference_error), (candidate_location, candidate_error) = (
        _location_and_error(reference, "A session"),
        _location_and_error(candidate, "A session"),
    )
    df, variance = len(shifts), sum(shift * shift for shift in shifts) / len(shifts)
    error = math.sqrt(variance + reference_error**2 + candidate_error**2)
    critical, estimate = float(stdtrit(df, 1 - alpha / 2)), candidate_location - reference_location
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


def _location_and_error(values: npt.ArrayLike, name: str) -> tuple[float, float]:
    """Return the Huber location of a session and its standard error, 0 where a single run does not show it."""
    huber = location(series(values, name))
    error = mean_error(huber.influence)[0]
    return huber.estimate, error if math.isfinite(error) else 0.0
