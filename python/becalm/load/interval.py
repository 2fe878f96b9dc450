"""From one reading of the machine to the next: an answer of the agent's request `read` as a Load.

`of` takes the sources as docs/reference/protocol.md has them, with `changes`, and gives the numbers of the interval
under the names that the record of a run has, so that whoever shows a rate needs one way to do it. What a source lacks
is None.

Public: SOURCES, of, absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from becalm.load.record import TICK_NS, Load

SOURCES = ("loadavg", "stat", "psi", "vmstat", "diskstats", "netdev", "nfs", "frequency")
"""What is asked for. `interrupts` and `softirqs` are left out: their files grow with CPUs times sources."""

SECTOR = 512
"""Bytes of a sector in /proc/diskstats, whatever the disk's own are (Documentation/admin-guide/iostats.rst)."""

Sources = Mapping[str, Mapping[str, Any]]


def of(sources: Sources, page_bytes: int, *, number: int = 0, started_ns: int = 0, cost_ns: int = 0) -> Load | None:
    """The interval that ends with this reading; None for a first one, which ends none.

    `number`: its place in the order of intervals; `started_ns`: Unix time of its beginning; `cost_ns`: CPU time that
    reading took. The run queue is the one of this moment, the agent left out.
    """
    interval_ns = max((each.get("interval_ns") or 0 for each in sources.values()), default=0)
    if interval_ns <= 0:
        return None
    stat, vmstat = _Moved(sources, "stat"), _Moved(sources, "vmstat")
    psi, nfs = _Moved(sources, "psi"), _Moved(sources, "nfs")
    disks, net = _Moved(sources, "diskstats"), _Moved(sources, "netdev")
    cpu = {name: stat.sum((f"cpu.{name}",), TICK_NS) for name in ("idle", "iowait", "irq", "softirq", "steal")}
    idle = None if cpu["idle"] is None or cpu["iowait"] is None else cpu["idle"] + cpu["iowait"]
    running = _state(sources, "loadavg", "running")
    others = [name for name in net.rows("received_bytes") if name != "lo"]
    whole = [
        name
        for name in disks.rows("sectors_read")
        if _state(sources, "diskstats", f"{name}.whole") and _state(sources, "diskstats", f"{name}.physical")
    ]
    frequencies = _states(sources, "frequency", ".frequency_khz")
    return Load(
        first=number,
        last=number,
        started_ns=started_ns,
        interval_ns=interval_ns,
        cpus=len(stat.rows("user")) - 1 or None if stat.changes else None,
        # Guest time is in user time already.
        busy_ns=stat.sum(("cpu.user", "cpu.nice", "cpu.system"), TICK_NS),
        idle_ns=idle,
        iowait_ns=cpu["iowait"],
        irq_ns=cpu["irq"],
        softirq_ns=cpu["softirq"],
        steal_ns=cpu["steal"],
        # loadavg counts the agent itself, which is running while it reads.
        queue=None if running is None else float(max(0, running - 1)),
        queue_peak=None if running is None else max(0, running - 1),
        samples=0 if running is None else 1,
        swap_out_bytes=vmstat.some(("pswpout", "zswpout"), page_bytes),
        swap_in_bytes=vmstat.some(("pswpin", "zswpin"), page_bytes),
        refaults=vmstat.some(("workingset_refault", "workingset_refault_anon", "workingset_refault_file")),
        direct_reclaims=vmstat.some([name for name in vmstat.changes if name.startswith("allocstall")]),
        major_faults=vmstat.sum(("pgmajfault",)),
        disk_read_bytes=disks.sum([f"{name}.sectors_read" for name in whole], SECTOR),
        disk_write_bytes=disks.sum([f"{name}.sectors_written" for name in whole], SECTOR),
        disk_busy_ns=disks.sum([f"{name}.busy_ms" for name in whole], 1_000_000),
        net_in_bytes=net.sum([f"{name}.received_bytes" for name in others]),
        net_out_bytes=net.sum([f"{name}.sent_bytes" for name in others]),
        net_packets=net.sum([f"{name}.{each}_packets" for name in others for each in ("received", "sent")]),
        net_errors=net.sum([f"{name}.{each}" for name in others for each in _ERRORS]),
        loopback_bytes=net.sum(("lo.received_bytes",)),
        nfs_calls=nfs.sum(("rpc.calls",)),
        nfs_retransmissions=nfs.sum(("rpc.retransmissions",)),
        pressure_cpu_ns=psi.sum(("cpu.some.total_us",), 1000),
        pressure_io_ns=psi.sum(("io.some.total_us",), 1000),
        pressure_memory_ns=psi.sum(("memory.some.total_us",), 1000),
        interrupts=stat.sum(("intr",)),
        switches=stat.sum(("ctxt",)),
        frequency_khz=round(sum(frequencies) / len(frequencies)) if frequencies else None,
        throttled=_Moved(sources, "frequency").ending(".core_throttles"),
        cost_ns=cost_ns or None,
    )


_ERRORS = ("receive_errors", "receive_drops", "send_errors", "send_drops", "collisions")


def absent(sources: Sources) -> dict[str, str]:
    """Sources that are not there at all, each with the agent's reason."""
    return {name: str(each["absent"]) for name, each in sources.items() if each.get("absent")}


class _Moved:
    """How far one source's counters moved."""

    def __init__(self, sources: Sources, name: str) -> None:
        source = sources.get(name, {})
        self.changes: Mapping[str, int] = source.get("changes") or {}
        self.unknown: Mapping[str, str] = source.get("unknown") or {}

    def rows(self, column: str) -> list[str]:
        """Keys of the rows that have this column."""
        return [name.rpartition(".")[0] for name in self.changes if name.endswith(f".{column}")]

    def sum(self, names: Iterable[str], unit: int = 1) -> int | None:
        """The sum of these; None when any of them is not known, or there are none."""
        wanted = list(names)
        if not wanted or any(name not in self.changes for name in wanted):
            return None
        return unit * sum(self.changes[name] for name in wanted)

    def some(self, names: Iterable[str], unit: int = 1) -> int | None:
        """The sum of those that this kernel has; None when it has none, or does not know how far one of them moved."""
        wanted = list(names)
        there = [name for name in wanted if name in self.changes]
        if not there or any(name in self.unknown for name in wanted):
            return None
        return unit * sum(self.changes[name] for name in there)

    def ending(self, end: str) -> int | None:
        """The sum of all whose names end so."""
        return self.sum([name for name in self.changes if name.endswith(end)])


def _state(sources: Sources, source: str, name: str) -> int | None:
    value: int | None = (sources.get(source, {}).get("states") or {}).get(name)
    return value


def _states(sources: Sources, source: str, end: str) -> list[int]:
    states = sources.get(source, {}).get("states") or {}
    return [value for name, value in states.items() if name.endswith(end) and value is not None]
