"""`becalm load`: keep processors, memory, a disk, the loopback network or the kernel busy, as much as was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from becalm.errors import UsageError
from becalm.hosts.load_generator import Loading
from becalm.nouns.demand import Demand, DemandKeywords, Made
from becalm.nouns.signature import takes
from becalm.units import duration_ns


@takes(Demand)
def make_load(
    *, duration: float | str | None = None, command: Sequence[str] = (), **given: Unpack[DemandKeywords]
) -> Made:
    """Make load for a time, or while a command runs; what it really did.

    Arguments:
        duration: seconds or text ("10s"); until Ctrl-C when neither it nor a command is given.
        command: argument list; it starts when all load is up, and its end is the load's.

    Raises UsageError, and MachineError where the machine cannot: no swap, no limit, no right, no such disk.
    """
    demand = Demand.of(**given)
    if duration is not None and command:
        raise UsageError("A load lasts for a time (--for) or as long as a command runs, not both. Leave one out.")
    if demand.memory_bytes is not None and demand.limit_bytes is None:
        raise UsageError(
            "Memory load needs a limit, so that the machine survives it: --limit 256M keeps it in a control group that "
            "has no more than that in memory; what is above goes to swap."
        )
    if demand.limit_bytes is not None and demand.memory_bytes is None:
        raise UsageError("--limit belongs to memory load: --memory 512M --limit 256M.")
    if demand.disk_rate is not None and demand.disk_directory is None:
        raise UsageError("--rate needs a directory on the disk to write to: --disk DIR --rate 50M.")
    with Loading(demand, None if duration is None else duration_ns(duration), command) as loading:
        return loading.wait()
