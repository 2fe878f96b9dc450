"""The finding on what running at the same time did to two programs."""

from __future__ import annotations

import math

from becalm.analysis.schedules import RepeatedSchedules
from becalm.nouns.finding import Finding
from becalm.plans.history import History
from becalm.wording.findings import finding


def alongside(schedules: RepeatedSchedules, history: History) -> tuple[Finding, ...]:
    """Return the finding on programs that ran at the same time, or on the reason why they took turns."""
    choice, evidence = schedules.groups.choice, schedules.evidence
    if choice.back is not None:
        return (finding("turns", {"reason": str(choice.back)}),)
    if evidence is None or not evidence.at_once:
        return ()
    slowdowns = [_share(value) for value in evidence.slowdowns]
    numbers = {
        "schedule": str(choice.schedule),
        "cpus": list(schedules.groups.cpus),
        "at_once": evidence.at_once,
        "turns": evidence.turns,
        "slowdowns": slowdowns,
        "slowdown_error": _known(evidence.slowdown_error),
        "change": _share(evidence.change),
        "change_error": _known(evidence.change_error),
        "most_cpus": history.most_cpus,
    }
    return (finding("alongside", numbers),)


def _share(value: float) -> float | None:
    """Return a difference of logarithms as a fraction; None: not known."""
    return math.expm1(value) if math.isfinite(value) else None


def _known(value: float) -> float | None:
    """Return a finite number; None for any other."""
    return value if math.isfinite(value) else None
