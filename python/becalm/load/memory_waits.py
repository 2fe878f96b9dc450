"""The waits of programs for memory, and the processes whose memory grew meanwhile.

The kernel counts the time in which tasks free pages for themselves, compact memory, or wait until pages are back that
were swapped out or dropped shortly before (delay accounting). Nothing tells for whom a page was taken, so growth is
reported as a fact next to the waits, not as a share of them: whoever asks for memory when none is free causes others to
lose theirs.

Pure functions: records in, a MemoryWaiting out. Public: MemoryWaiting, memory_waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from becalm.load.covered import covered
from becalm.load.cpu_competition import MATERIAL
from becalm.load.others import Others, ProcessUse
from becalm.load.record import Load
from becalm.load.shares import ByteShare, byte_shares
from becalm.load.time_accounting import of as times_of
from becalm.load.time_accounting import shortage_ns
from becalm.nouns.run import Run


class MemoryWaiting(msgspec.Struct, frozen=True):
    """The waits of some runs for memory, in ns over all of them, and the growth of memory meanwhile.

    - `wall_ns`: as in a Waiting
    - `own_bytes`: the largest resident memory of a process of a run, times the tasks at work at the same time
    - `grown_bytes`: the growth of the processes that hold more at the end than at the beginning, as far as listed;
      `growers`: those with a fifth or more of that and `own_bytes` together
    - `swapped_bytes`: bytes that were swapped out, None where not counted
    - `blocks`: the number of readings
    """

    runs: int
    wall_ns: float
    lost_ns: float
    own_bytes: int
    grown_bytes: int
    swapped_bytes: int | None
    growers: tuple[ByteShare, ...]
    blocks: int

    @property
    def material(self) -> bool:
        """Whether the waits are worth reporting: long enough, and others grew by more than the program holds."""
        return self.lost_ns >= MATERIAL * self.wall_ns > 0 and self.grown_bytes > self.own_bytes


def memory_waiting(runs: Iterable[Run], loads: Sequence[Load], others: Sequence[Others]) -> MemoryWaiting | None:
    """Return the waits of runs for memory and who grew meanwhile; None where not recorded.

    All arguments are in the order of the runs, as for `waiting`; records of further runs are left out.
    """
    wall_ns, lost_ns, own, count, blocks = 0.0, 0.0, 0.0, 0, 0
    swapped: int | None = 0
    changes: dict[tuple[int, str, str], int] = {}
    for block in covered(runs, loads, others):
        waits = [shortage_ns(load) for load, _ in block.loads]
        if any(wait is None for wait in waits):
            continue
        for load, mine in block.loads:
            width = times_of(mine, load).width
            wall_ns += sum(run.took_ns for run in mine) * width
            own = max(own, max(run.max_rss_bytes or 0 for run in mine) * width)
            swapped = None if swapped is None or load.swap_out_bytes is None else swapped + load.swap_out_bytes
        lost_ns += sum(wait or 0 for wait in waits)
        count += len(block.runs)
        blocks += 1
        for reading in block.record.readings:
            for change in reading.memory_changes:
                key = change.pid, change.name, change.group
                changes[key] = changes.get(key, 0) + change.change_bytes
    if not blocks:
        return None
    grown = [ProcessUse(*key, size) for key, size in changes.items() if size > 0]
    others_bytes = sum(use.amount for use in grown)
    growers = byte_shares(grown, others_bytes + own)
    return MemoryWaiting(count, wall_ns, lost_ns, int(own), others_bytes, swapped, growers, blocks)
