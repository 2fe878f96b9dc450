"""The noise that two CPUs share, from the same work run on both at the same time and one after the other."""

from __future__ import annotations

import math

import numpy as np

from becalm.analysis.schedules import RepeatedSchedules
from becalm.plans.groups import Groups
from becalm.plans.history import History
from becalm.results.doctor import SharedNoise
from becalm.stats.rank_correlation import rank_correlation

ALPHA = 0.05


def shared_noise(history: History, groups: Groups) -> SharedNoise | None:
    """Return the effect of running at the same time on this machine; None for too few runs.

    `history`: two programs that do the same work, measured by the plan `groups` in both schedules.
    """
    at_once = np.array([groups.is_at_once(int(number)) for number in history.finished], dtype=np.bool_)
    first, second = (np.log(history.wall_ns(program).astype(np.float64)) for program in (0, 1))
    # The programs exchange CPUs from round to round: the correlation is by CPU, not by program.
    swapped = np.array([_on_first(groups, int(number)) for number in history.finished[at_once]], dtype=np.bool_)
    first, second = first[at_once], second[at_once]
    correlation = rank_correlation(np.where(swapped, second, first), np.where(swapped, first, second), 1 - ALPHA)
    if correlation is None:
        return None
    watcher = RepeatedSchedules(ALPHA, groups)
    watcher.looks(history, 1.0)
    evidence = watcher.evidence
    assert evidence is not None
    # Without any noise at once more runs gain nothing either.
    gain = evidence.turns_error / evidence.at_once_error if evidence.at_once_error > 0 else math.inf
    slowdown = math.expm1(evidence.slowdown)
    return SharedNoise(
        cpus=groups.cpus,
        pairs=len(first),
        correlation=correlation.value,
        low=correlation.low,
        high=correlation.high,
        gain=gain if math.isfinite(gain) else None,
        slowdown=slowdown if math.isfinite(slowdown) else None,
        slowdown_error=evidence.slowdown_error if math.isfinite(evidence.slowdown_error) else None,
    )


def _on_first(groups: Groups, number: int) -> bool:
    """Return whether the second program ran on the first CPU in a round of this number."""
    ((meeting,),) = groups.parts[number // groups.size]
    return meeting.side ^ (number % groups.size) == 0
