"""The waits of programs for disks and the processes that caused them.

The kernel counts waits for disks (delay accounting) and the bytes that each process moved. As for a CPU, two arguments
of `becalm.stats.culprits` can name a process:

1. Accounting: neither the program nor all others together can have caused the waits. Each of the program's own waits
   may have lasted ALONE_NS on an idle disk. The others used the disk in proportion to their bytes or, where that is
   more, to requests of a page each, at most ALONE_NS per request. This argument names nobody where several disks moved
   bytes, since no count shows which process used which disk.
2. Variation: the waits rise and fall with the process's part of the disks' busy time, by bytes.

Pure functions: records in, a DiskWaiting out.

Public: DiskWaiting, disk_waiting, ALONE_NS.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from becalm.load.covered import Covered, covered
from becalm.load.cpu_competition import MATERIAL
from becalm.load.culprits import Block, culprits_of
from becalm.load.others import Others, OthersReading, ProcessUse
from becalm.load.record import Load
from becalm.load.time_accounting import of as times_of
from becalm.load.waits import Culprit, Suspects
from becalm.nouns.run import Run
from becalm.stats.culprits import Basis

ALONE_NS = 20_000_000.0
"""The longest time of a request on an idle disk, ns: a seek, a rotation, and the flush of the disk's cache."""

PAGE = 4096
"""The fewest bytes of a request (a page), which bounds the number of a process's requests."""

LARGER_PART = 0.5
"""The share of all bytes that others together must have moved at least before one of them is named."""


class DiskWaiting(msgspec.Struct, frozen=True):
    """The waits of some runs for disks, in ns over all of them, and the bytes that were moved meanwhile.

    - `wall_ns`: as in a Waiting
    - `own_bytes`, `disk_bytes`: bytes of the programs, and of the disks
    - `culprits`: their `used_ns` is time of the disks
    - `unread`: the largest number at one time of processes whose traffic may not be read
    - `disks`: the largest number at one time of disks that moved anything
    - `blocks`: the number of readings
    """

    runs: int
    wall_ns: float
    lost_ns: float
    own_bytes: int
    disk_bytes: int
    culprits: tuple[Culprit, ...] = ()
    suspects: Suspects | None = None
    unread: int = 0
    disks: int = 0
    blocks: int = 0

    @property
    def material(self) -> bool:
        """Whether the waits are worth reporting: long enough, and others moved the larger part of the bytes."""
        others = self.disk_bytes - self.own_bytes
        return self.lost_ns >= MATERIAL * self.wall_ns > 0 and others >= LARGER_PART * self.disk_bytes > 0


def disk_waiting(runs: Iterable[Run], loads: Sequence[Load], others: Sequence[Others]) -> DiskWaiting | None:
    """Return the waits of runs for disks and the processes that moved bytes meanwhile; None where not recorded.

    All arguments are in the order of the runs, as for `waiting`; records of further runs are left out.
    """
    waits = DiskWaiting(0, 0.0, 0.0, 0, 0)
    most: list[Block] = []
    by_bytes: list[Block] = []
    for block in covered(runs, loads, others):
        pair = _blocks(block)
        if pair is None:
            continue
        part = pair[2]
        most.append(pair[0])
        by_bytes.append(pair[1])
        waits = replace(
            waits,
            runs=waits.runs + part.runs,
            wall_ns=waits.wall_ns + part.wall_ns,
            lost_ns=waits.lost_ns + part.lost_ns,
            own_bytes=waits.own_bytes + part.own_bytes,
            disk_bytes=waits.disk_bytes + part.disk_bytes,
            unread=max(waits.unread, part.unread),
            disks=max(waits.disks, part.disks),
            blocks=len(most),
        )
    if not most:
        return None
    if not waits.material:
        return waits
    least_ns = MATERIAL * waits.wall_ns
    if waits.disks == 1:
        culprits, suspects = culprits_of(most, 0.0, least_ns)
        culprits = tuple(culprit for culprit in culprits if culprit.basis == Basis.ACCOUNTING)
        if culprits:
            return replace(waits, culprits=culprits, suspects=suspects)
    # Bytes give no bound here, so only variation may name a process.
    culprits, _ = culprits_of(by_bytes, math.inf, least_ns)
    return replace(waits, culprits=culprits)


def _blocks(block: Covered) -> tuple[Block, Block, DiskWaiting] | None:
    """Return a record's block by the most disk time of each process, its block by bytes, and its part of the total.

    None where a needed count is unknown.
    """
    record, mine, loads = block.record, block.runs, [load for load, _ in block.loads]
    wait_ns, busy_ns, read, written, transfers = (
        _sum(loads, name)
        for name in ("block_ns", "disk_busy_ns", "disk_read_bytes", "disk_write_bytes", "disk_transfers")
    )
    own = record.own_traffic
    if wait_ns is None or busy_ns is None or read is None or written is None or transfers is None or own is None:
        return None
    own_bytes, disk_bytes = min(sum(own), read + written), read + written
    voluntary = [run.voluntary for run in mine]
    own_waits = own_bytes / PAGE
    if all(count is not None for count in voluntary):
        own_waits = min(own_waits, sum(count or 0 for count in voluntary))

    def by_bytes_ns(moved: float) -> float:
        """Return the part of the disks' time in proportion to bytes moved by others."""
        return busy_ns * max(0.0, min(moved, disk_bytes - own_bytes)) / disk_bytes if disk_bytes else 0.0

    def most_ns(moved: float) -> float:
        """Return the most time of the disks that bytes moved by others may have taken."""
        requests = max(0.0, min(moved, disk_bytes - own_bytes)) / PAGE
        most = max(by_bytes_ns(moved), busy_ns * min(1.0, requests / max(transfers, 1)))
        return min(most, requests * ALONE_NS)

    moved_bytes: dict[tuple[int, str, str], int] = {}
    for reading in record.readings:
        for mover in reading.movers:
            key = mover.pid, mover.name, mover.group
            moved_bytes[key] = moved_bytes.get(key, 0) + mover.read_bytes + mover.written_bytes
    span_ns = sum(reading.interval_ns for reading in record.readings)
    rest = disk_bytes - own_bytes - sum(moved_bytes.values())
    most, by_bytes = (
        Block(
            OthersReading(
                span_ns, tuple(ProcessUse(*key, int(of(moved))) for key, moved in moved_bytes.items()), int(of(rest))
            ),
            float(span_ns),
            float(wait_ns),
            own_waits * ALONE_NS,
        )
        for of in (most_ns, by_bytes_ns)
    )
    wall_ns = sum(sum(run.took_ns for run in part) * times_of(part, load).width for load, part in block.loads)
    unread = max(reading.unread for reading in record.readings)
    part = DiskWaiting(
        len(mine), wall_ns, float(wait_ns), own_bytes, disk_bytes, unread=unread, disks=record.disks or 0
    )
    return most, by_bytes, part


def _sum(loads: Sequence[Load], name: str) -> int | None:
    values = [getattr(load, name) for load in loads]
    return None if any(value is None for value in values) else sum(values)
