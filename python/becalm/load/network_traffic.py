"""The processes that used the network while programs ran (`--by bpf`).

Linux counts no waits for the network: a program that waits for a packet sleeps, as it does when it waits for a timer.
So who moved the bytes is reported as a fact, where the program used the network, slept, and others moved most bytes.

Pure functions: records in, a NetworkUse out. Public: NetworkUse, network_use.
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
from becalm.nouns.run import Run

LARGER_PART = 0.5
"""The share of all bytes that others must have moved at least."""

LEAST_RATE = 1e6
"""The rate of others from which on it is reported, bytes per second: a hundredth of a link of 1 Gbit/s."""


class NetworkUse(msgspec.Struct, frozen=True):
    """The bytes over the network during some runs.

    - `wall_ns`, `slept_ns`: the time of the runs, times the tasks at work at the same time, and its part in which they
      neither ran nor waited for a CPU, nor for a disk where that is counted
    - `interval_ns`: the time in which the bytes were counted
    - `own_bytes`, `others_bytes`: bytes of the programs and of all others, received and sent
    - `movers`: those with a fifth of all bytes or more
    - `blocks`: the number of readings
    """

    runs: int
    wall_ns: float
    slept_ns: float
    interval_ns: int
    own_bytes: int
    others_bytes: int
    movers: tuple[ByteShare, ...]
    blocks: int

    @property
    def material(self) -> bool:
        """Whether it is worth reporting: the program used the network and slept, and others moved most bytes."""
        rate = self.others_bytes / self.interval_ns * 1e9 if self.interval_ns else 0.0
        return (
            self.own_bytes > 0
            and self.slept_ns >= MATERIAL * self.wall_ns > 0
            and self.others_bytes >= LARGER_PART * (self.own_bytes + self.others_bytes)
            and rate >= LEAST_RATE
        )


def network_use(runs: Iterable[Run], loads: Sequence[Load], others: Sequence[Others]) -> NetworkUse | None:
    """Return who used the network during runs; None where it was not counted.

    All arguments are in the order of the runs, as for `waiting`; records of further runs are left out.
    """
    wall_ns, slept_ns, count, blocks, interval_ns, own, rest = 0.0, 0.0, 0, 0, 0, 0, 0
    moved: list[ProcessUse] = []
    for block in covered(runs, loads, others):
        network = block.record.network
        if network is None or any(load.wait_ns is None for load, _ in block.loads):
            continue
        for load, mine in block.loads:
            times = times_of(mine, load)
            spent = sum(part or 0.0 for part in (times.on_cpu_ns, times.wait_ns, times.block_ns, times.steal_ns))
            wall_ns += len(mine) * times.wall_ns * times.width
            slept_ns += len(mine) * max(0.0, times.wall_ns * times.width - spent)
        count += len(block.runs)
        blocks += 1
        interval_ns += sum(reading.interval_ns for reading in block.record.readings)
        own += sum(network.own)
        rest += network.rest_bytes
        moved += (
            ProcessUse(mover.pid, mover.name, mover.group, mover.read_bytes + mover.written_bytes)
            for mover in network.movers
        )
    if not blocks:
        return None
    others_bytes = rest + sum(use.amount for use in moved)
    movers = byte_shares(moved, own + others_bytes)
    return NetworkUse(count, wall_ns, slept_ns, interval_ns, own, others_bytes, movers, blocks)
