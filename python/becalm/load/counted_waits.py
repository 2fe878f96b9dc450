"""The waits of programs for a CPU by who ran on it meanwhile, as the kernel counted them.

The kernel's sum of run-queue waits, without those for a quota, remains the total. It is divided among others, the
program itself and unknown in proportion to the times that were counted around the same runs: they may include a warm-up
next to them, and lack short runs at the end of a block. Time in which the CPU was idle is left out: the task was about
to run, or a quota held it back.

Public: by_count.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from becalm.load.cpu_competition import MATERIAL
from becalm.load.others import CountedWaits, ProcessUse
from becalm.load.shares import amount, identity, largest
from becalm.load.waits import Culprit, Level, Waiting
from becalm.stats.culprits import LEAST, Basis


def by_count(waits: Waiting, records: Sequence[CountedWaits]) -> Waiting:
    """Return waits with the parts of others, of the program itself and of nobody known as they were counted."""
    uses = [use for record in records for use in record.taken]
    others_ns = amount(uses) + float(sum(record.rest_ns for record in records))
    own_ns = float(sum(record.own_ns for record in records))
    unknown_ns = float(sum(record.unknown_ns for record in records))
    whole = others_ns + own_ns + unknown_ns
    if not whole:
        return waits
    scale = (waits.others_ns + waits.own_ns + waits.unknown_ns) / whole
    least = max(LEAST * whole, MATERIAL * waits.wall_ns / scale if scale else 0.0)
    level, named = largest(uses, least)
    return replace(
        waits,
        others_ns=others_ns * scale,
        own_ns=own_ns * scale,
        unknown_ns=unknown_ns * scale,
        culprits=tuple(_culprit(level, own, whole) for own in named),
        blocks=len(records),
    )


def _culprit(level: Level, uses: Sequence[ProcessUse], whole_ns: float) -> Culprit:
    name, group, pids = identity(uses)
    used_ns = amount(uses)
    share = used_ns / whole_ns
    return Culprit(
        level=level,
        name=name,
        pid=pids[0] if len(pids) == 1 else None,
        group=group,
        count=len(pids),
        used_ns=used_ns,
        share=share,
        low=share,
        high=share,
        basis=Basis.COUNTED,
    )
