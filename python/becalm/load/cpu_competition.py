"""What a load, the settings of a run and the facts of the machine say of the competition for CPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from becalm.load.delay import Circumstances
from becalm.load.record import Load
from becalm.nouns.settings import Settings


def circumstances(load: Load | None, settings: Settings, facts: Mapping[str, Any]) -> Circumstances:
    """Run queue, CPUs that the run may use, its nice value, and whether sessions are groups; None is unknown."""
    values = dict(settings.values)
    cpus: float | None = None if load is None else load.cpus
    count = _count(str(values.get("cpus", "")))
    if count is not None:
        # A list may name CPUs that the machine does not have (sched_setaffinity(2)).
        cpus = count if cpus is None else min(count, cpus)
    nice = str(values.get("nice", 0))
    scheduler = facts.get("scheduler")
    autogroup = scheduler.get("autogroup") if isinstance(scheduler, Mapping) else None
    return Circumstances(
        queue=None if load is None else load.queue,
        cpus=cpus,
        nice=int(nice) if nice.lstrip("-").isdecimal() else 0,
        # Without autogroup there may still be control groups, which nobody has asked about.
        grouped=True if autogroup else None,
    )


def _count(cpus: str) -> float | None:
    """How many CPUs a list such as 0-3,8 names; None for anything else."""
    total = 0
    for part in cpus.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            return None
        total += int(last) - int(first) + 1 if dash else 1
    return float(total) if total > 0 else None
