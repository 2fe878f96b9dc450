"""The finding on programs that ran at the same time: how much they slowed each other, and how close their starts
were."""

from __future__ import annotations

import math

import numpy as np

from becalm.analysis.schedules import RepeatedSchedules
from becalm.nouns.finding import Finding
from becalm.plans.history import History
from becalm.stats.arrays import Floats
from becalm.wording.findings import finding

NEAR_NS = 20_000
"""The largest distance of two starts that counts as simultaneous: a wake-up of an idle CPU takes about as long."""


def alongside_findings(schedules: RepeatedSchedules, history: History, apart_ns: Floats) -> tuple[Finding, ...]:
    """Return the finding on programs that ran at the same time, or on the reason why they took turns.

    `apart_ns`: the distance between the starts of each run and its partner, shape (runs,); NaN where nothing started at
    the same time.
    """
    choice, evidence = schedules.groups.choice, schedules.evidence
    if choice.back is not None:
        return (finding("turns", {"reason": str(choice.back)}),)
    if evidence is None or not evidence.at_once:
        return ()
    distances_ns = np.abs(apart_ns[np.isfinite(apart_ns)])
    numbers = {
        "schedule": str(choice.schedule),
        "cpus": list(schedules.groups.cpus),
        "at_once": evidence.at_once,
        "turns": evidence.turns,
        "slowdowns": [_share(value) for value in schedules.slowdowns],
        "slowdown_error": _finite(evidence.slowdown_error),
        "change": _share(evidence.change),
        "change_error": _finite(evidence.change_error),
        "most_cpus": history.most_cpus,
        # Each distance appears twice, once for either run.
        "starts": len(distances_ns) // 2,
        "near": int((distances_ns <= NEAR_NS).sum()) // 2,
    }
    return (finding("alongside", numbers),)


def _share(value: float) -> float | None:
    """Return a difference of logarithms as a fraction; None when it is not finite."""
    return math.expm1(value) if math.isfinite(value) else None


def _finite(value: float) -> float | None:
    """Return a finite number, and None for any other."""
    return value if math.isfinite(value) else None
