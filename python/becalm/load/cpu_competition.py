"""The competition for CPUs in a load, by the settings of a run and the facts of the machine.

A program competes with others on the CPUs that it may use. The kernel reports the run queue of the whole machine only.
For a program that is confined to some CPUs the queue is therefore known only where nobody else used them.

Public: circumstances, quota_cpus, others_share, stolen_share, confined, undisturbed,
MATERIAL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from becalm.load.delay import Competition
from becalm.load.record import TICK_NS, Load
from becalm.load.time_accounting import Times
from becalm.nouns.settings import Settings

ALONE = 0.05
"""The share of the CPUs that a program may use, used by others, up to which they count as the program's alone."""

MATERIAL = 0.02
"""The share of the programs' time below which a wait for a CPU is not reported."""


def circumstances(load: Load | None, settings: Settings, facts: Mapping[str, Any]) -> Competition:
    """Return the run queue, the CPUs and nice value of a run, and whether sessions are groups; None is unknown."""
    values = dict(settings.values)
    cpus: float | None = None if load is None else load.cpus
    count = _count(str(values.get("cpus", "")))
    if count is not None:
        # A list may name CPUs that the machine does not have (sched_setaffinity(2)).
        cpus = count if cpus is None else min(count, cpus)
    nice = str(values.get("nice", 0))
    scheduler = facts.get("scheduler")
    autogroup = scheduler.get("autogroup") if isinstance(scheduler, Mapping) else None
    return Competition(
        queue=None if load is None else load.queue,
        cpus=cpus,
        nice=int(nice) if nice.lstrip("-").isdecimal() else 0,
        # Without autogroup there may still be control groups; whether there are is unknown.
        grouped=True if autogroup else None,
        quota_cpus=quota_cpus(facts),
    )


def quota_cpus(facts: Mapping[str, Any]) -> float | None:
    """Return the number of CPUs that the quota of the control group allows; None without a quota.

    It is the tightest quota of the group and its ancestors, in either version of cgroups
    (crates/becalm-core/src/facts).
    """
    groups = facts.get("cgroups")
    words = str(groups.get("cpu_limit") or "").split() if isinstance(groups, Mapping) else []
    if len(words) != 2 or not all(word.isdecimal() for word in words) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])


def others_share(load: Load, own_ns: float | None) -> float | None:
    """Return the share of the programs' CPUs that others used; it may be below 0, since ticks are inexact.

    `own_ns`: CPU time in the interval that is not others'. Where the programs' CPUs were not recorded, all CPUs count.
    """
    busy, cpus = (load.own_cpus_busy_ns, load.own_cpus) if load.confined else (load.busy_ns, load.cpus)
    room = load.interval_ns * (cpus or 0)
    return None if busy is None or own_ns is None or not room else (busy - own_ns) / room


def stolen_share(load: Load) -> float | None:
    """Return the share of the time of the programs' CPUs that the hypervisor took."""
    steal, cpus = (load.own_cpus_steal_ns, load.own_cpus) if load.confined else (load.steal_ns, load.cpus)
    room = load.interval_ns * (cpus or 0)
    return None if steal is None or not room else steal / room


def undisturbed(loads: Sequence[Load]) -> bool:
    """Return whether the loads alone show that no wait is worth reporting: a quick test before all runs are read."""
    waits = sum((load.wait_ns or 0) + (load.steal_ns or 0) for load in loads)
    # The programs ran for only a part of an interval.
    return waits < MATERIAL * sum(load.interval_ns for load in loads) / 2


def confined(around: Competition, load: Load, times: Times, own_ns: float | None) -> Competition:
    """Return the competition on the CPUs that a program may use, as far as it is known.

    If these are fewer than the machine has, the queue is the program's own tasks if others used none of these CPUs, and
    else unknown.
    """
    cpus = around.cpus
    if load.own_cpus is not None:
        cpus = float(load.own_cpus)
    if cpus is None or load.cpus is None or cpus >= load.cpus:
        return replace(around, cpus=cpus)
    others = others_share(load, own_ns) if load.confined else None
    alone = others is not None and others - TICK_NS / load.interval_ns <= ALONE
    return replace(around, cpus=cpus, queue=times.ready if alone else None)


def _count(cpus: str) -> float | None:
    """Return the number of CPUs in a list such as 0-3,8; None for other texts."""
    total = 0
    for part in cpus.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            return None
        total += int(last) - int(first) + 1 if dash else 1
    return float(total) if total > 0 else None
