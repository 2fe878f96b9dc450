"""The waits of runs that are worth a finding: for a CPU, for disks, for memory, and the network's use.

The modules that look for causes are imported only where the loads alone do not rule a finding out: most measurements
end without them.

Public: reported_waits, KINDS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from becalm.load.cpu_competition import MATERIAL, undisturbed
from becalm.load.others import Others
from becalm.load.record import Load
from becalm.load.time_accounting import shortage_ns
from becalm.nouns.run import Run

KINDS = ("waits", "disk_waits", "memory_waits", "network_use")
"""The kinds of findings."""


def reported_waits(
    loads: Sequence[Load], runs: Callable[[], Iterable[Run]], others: Sequence[Others], quota_cpus: float | None
) -> Iterator[tuple[str, msgspec.Struct]]:
    """Yield the kind of finding and its numbers for all waits that are known and material.

    `runs`: a function that returns the runs of the study in order, called for each kind that needs them.
    """
    interval_ns = sum(load.interval_ns for load in loads)

    def may_matter(waits_ns: int) -> bool:
        """Return whether waits may be material and have a cause on record; programs ran for a part of the interval."""
        return bool(others) and waits_ns >= MATERIAL * interval_ns / 2 > 0

    if not undisturbed(loads):
        from becalm.load.culprits import waiting

        waits = waiting(runs(), loads, others, quota_cpus)
        if waits is not None and waits.material:
            yield "waits", waits
    if may_matter(sum(load.block_ns or 0 for load in loads)):
        from becalm.load.disk_culprits import disk_waiting

        disk_waits = disk_waiting(runs(), loads, others)
        if disk_waits is not None and disk_waits.material:
            yield "disk_waits", disk_waits
    if may_matter(sum(shortage_ns(load) or 0 for load in loads)):
        from becalm.load.memory_waits import memory_waiting

        memory_waits = memory_waiting(runs(), loads, others)
        if memory_waits is not None and memory_waits.material:
            yield "memory_waits", memory_waits
    if any(record.network is not None and sum(record.network.own) for record in others):
        from becalm.load.network_traffic import network_use

        network = network_use(runs(), loads, others)
        if network is not None and network.material:
            yield "network_use", network
