"""The finding on what running at the same time did to programs, and how close together they started."""

from __future__ import annotations

import math

import numpy as np

from becalm.analysis.schedules import RepeatedSchedules
from becalm.nouns.finding import Finding
from becalm.plans.history import History
from becalm.stats.arrays import Floats
from becalm.wording.findings import finding

NEAR_NS = 20_000
"""The distance of two starts that counts as none: a wake-up of an idle CPU takes about as long."""


def alongside(schedules: RepeatedSchedules, history: History, apart_ns: Floats) -> tuple[Finding, ...]:
    """Return the finding on programs that ran at the same time, or on the reason why they took turns.

    `apart_ns`: the distances of the starts of all runs; NaN where nothing started at the same time.
    """
    choice, evidence = schedules.groups.choice, schedules.evidence
    if choice.back is not None:
        return (finding("turns", {"reason": str(choice.back)}),)
    if evidence is None or not evidence.at_once:
        return ()
    together = np.abs(apart_ns[np.isfinite(apart_ns)])
    numbers = {
        "schedule": str(choice.schedule),
        "cpus": list(schedules.groups.cpus),
        "at_once": evidence.at_once,
        "turns": evidence.turns,
        "slowdowns": [_share(value) for value in schedules.slowdowns],
        "slowdown_error": _known(evidence.slowdown_error),
        "change": _share(evidence.change),
        "change_error": _known(evidence.change_error),
        "most_cpus": history.most_cpus,
        # Each start is that of two runs.
        "starts": len(together) // 2,
        "near": int((together <= NEAR_NS).sum()) // 2,
    }
    return (finding("alongside", numbers),)


def _share(value: float) -> float | None:
    """Return a difference of logarithms as a fraction; None: not known."""
    return math.expm1(value) if math.isfinite(value) else None


def _known(value: float) -> float | None:
    """Return a finite number; None for any other."""
    return value if math.isfinite(value) else None
