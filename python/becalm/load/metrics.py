"""The displayed measures of load: one table for views, reports, series and Prometheus.

A measure is a rate, a share or a state of one interval; `of` computes it from a Load, of a run or of a second of a live
view. To add a measure, add a row. Definitions: Mund (1996) for the first six; docs/reference/load-sources.md for
today's kernel interfaces.

Public: Unit, Measure, MEASURES, PROCESS, find, total_ns.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Generic, TypeVar

import msgspec

from becalm.load.live import Followed
from becalm.load.record import Load

Observed = TypeVar("Observed")
"""The subject of a measure: an interval of the machine, or of a process."""


class Unit(StrEnum):
    """The unit of a measure's number. Shares are fractions; rates are per second."""

    SHARE = "share"
    TASKS = "tasks"
    BYTES = "bytes per second"
    SIZE = "bytes"
    RATE = "per second"
    HERTZ = "hertz"


class Measure(msgspec.Struct, Generic[Observed], frozen=True):
    """A measure. `name` is for machines, `label` for people; `why` describes what it is, and what it is not.

    `of`: returns its value in the base unit (fraction, tasks, bytes/s, bytes, 1/s, Hz), None where unknown. `source`:
    the agent's source. `minor`: whether it is shown only if it is ever not zero.
    """

    name: str
    label: str
    unit: Unit
    source: str
    why: str
    of: Callable[[Observed], float | None]
    minor: bool = False


def total_ns(load: Load) -> int | None:
    """Return the available CPU time, all CPUs together, ns: used, idle, and stolen."""
    parts = (load.busy_ns, load.idle_ns, load.irq_ns, load.softirq_ns, load.steal_ns)
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) and sum(known) > 0 else None


def _cpu(*names: str) -> Callable[[Load], float | None]:
    def of(load: Load) -> float | None:
        all_ns = total_ns(load)
        values = [getattr(load, name) for name in names]
        return None if all_ns is None or None in values else float(sum(values) / all_ns)

    return of


def _time(name: str) -> Callable[[Load], float | None]:
    """Return a function for a share of the interval, at most 1: its ends are read a moment apart from the sums."""

    def of(load: Load) -> float | None:
        value = getattr(load, name)
        return None if value is None or load.interval_ns <= 0 else min(1.0, float(value / load.interval_ns))

    return of


def _rate(*names: str) -> Callable[[Load], float | None]:
    def of(load: Load) -> float | None:
        values = [getattr(load, name) for name in names]
        if any(value is None for value in values) or load.interval_ns <= 0:
            return None
        return float(sum(values) * 1e9 / load.interval_ns)

    return of


def _events(name: str, label: str, source: str, why: str) -> Measure[Load]:
    """Return a minor measure: the rate of an event, by the column of that name."""
    return Measure(name, label, Unit.RATE, source, why, _rate(name), minor=True)


def transfer_bytes(load: Load) -> float | None:
    """Return the mean size of a disk transfer; None without transfers."""
    if load.disk_read_bytes is None or load.disk_write_bytes is None or not load.disk_transfers:
        return None
    return (load.disk_read_bytes + load.disk_write_bytes) / load.disk_transfers


MEASURES: tuple[Measure[Load], ...] = (
    Measure("cpu", "CPU", Unit.SHARE, "stat", "time of all CPUs that was not idle and not stolen",
            _cpu("busy_ns", "irq_ns", "softirq_ns")),
    Measure("system", "in the kernel", Unit.SHARE, "stat", "time of all CPUs in the kernel for programs; part of CPU",
            _cpu("system_ns"), minor=True),
    Measure("steal", "steal", Unit.SHARE, "stat", "time of all CPUs that the hypervisor gave to somebody else",
            _cpu("steal_ns"), minor=True),
    Measure("interrupts", "irq, softirq", Unit.SHARE, "stat", "time of all CPUs in interrupts",
            _cpu("irq_ns", "softirq_ns"), minor=True),
    Measure("queue", "run queue", Unit.TASKS, "loadavg", "runnable tasks, the watcher left out",
            lambda load: load.queue),
    Measure("pressure_cpu", "wait for CPU", Unit.SHARE, "psi", "time in which at least one task waited for a CPU",
            _time("pressure_cpu_ns")),
    Measure("page_out", "page-out", Unit.BYTES, "vmstat", "pages swapped out (not block output)",
            _rate("swap_out_bytes")),
    Measure("page_in", "page-in", Unit.BYTES, "vmstat", "pages swapped in", _rate("swap_in_bytes"), minor=True),
    _events("refaults", "refaults", "vmstat", "pages read again soon after they were dropped"),
    Measure("pressure_memory", "wait for mem.", Unit.SHARE, "psi", "time in which at least one task waited for memory",
            _time("pressure_memory_ns"), minor=True),
    Measure("disk_read", "disk read", Unit.BYTES, "diskstats", "read from whole, physical disks",
            _rate("disk_read_bytes")),
    Measure("disk_write", "disk write", Unit.BYTES, "diskstats", "written to whole, physical disks",
            _rate("disk_write_bytes")),
    _events("disk_transfers", "transfers", "diskstats", "reads and writes that disks have finished"),
    Measure("transfer_size", "transfer size", Unit.SIZE, "diskstats", "mean size of a read or write", transfer_bytes,
            minor=True),
    Measure("pressure_io", "wait for I/O", Unit.SHARE, "psi", "time in which at least one task waited for a device",
            _time("pressure_io_ns")),
    Measure("net_in", "network in", Unit.BYTES, "netdev", "received, loopback left out", _rate("net_in_bytes")),
    Measure("net_out", "network out", Unit.BYTES, "netdev", "sent, loopback left out", _rate("net_out_bytes")),
    Measure("net_mtu", "packets × MTU", Unit.BYTES, "netdev",
            "packets in and out, each as large as it may be (Mund 1996); more than was moved", _rate("net_mtu_bytes"),
            minor=True),
    _events("net_errors", "net errors", "netdev", "errors, drops and collisions"),
    Measure("loopback", "loopback", Unit.BYTES, "netdev", "between programs of this machine",
            _rate("loopback_bytes"), minor=True),
    Measure("nfs", "NFS calls", Unit.RATE, "nfs", "calls of the NFS client", _rate("nfs_calls")),
    _events("nfs_retransmissions", "NFS repeats", "nfs", "calls that were sent again"),
    Measure("frequency", "frequency", Unit.HERTZ, "frequency", "mean of the CPUs",
            lambda load: None if load.frequency_khz is None else 1000.0 * load.frequency_khz),
    _events("throttled", "throttled", "frequency", "how often heat slowed a core down"),
    Measure("switches", "switches", Unit.RATE, "stat", "context switches", _rate("switches")),
    Measure("interrupt_rate", "interrupts", Unit.RATE, "stat", "of devices, timers and other CPUs together",
            _rate("interrupts"), minor=True),
    _events("device_interrupts", "from devices", "stat", "those that have a number"),
    _events("softirqs_timer", "of timers", "stat", "software interrupts of timers"),
    _events("softirqs_network", "of network", "stat", "software interrupts of packets"),
    _events("softirqs_block", "of disks", "stat", "software interrupts of finished requests"),
    _events("softirqs_scheduler", "of scheduler", "stat", "software interrupts that share out tasks anew"),
    _events("softirqs_rcu", "of RCU", "stat", "software interrupts of deferred freeing"),
)  # fmt: skip
"""All measures, in the order in which they are shown."""


def _moved(name: str) -> Callable[[Followed], float | None]:
    """Return a function for a rate per second, or for ns per ns, which is a number of CPUs."""

    def of(followed: Followed) -> float | None:
        by = followed.moved(name)
        scale = 1.0 if name.endswith("_ns") else 1e9
        return None if by is None or followed.interval_ns <= 0 else scale * by / followed.interval_ns

    return of


PROCESS: tuple[Measure[Followed], ...] = (
    Measure("process_cpu", "on a CPU", Unit.SHARE, "stat", "CPU time of all its threads; 100 % is one CPU",
            lambda followed: followed.running),
    Measure("process_wait", "waits for CPU", Unit.SHARE, "schedstat", "time its threads were ready but not running",
            _moved("wait_ns")),
    Measure("process_block", "waits for disk", Unit.SHARE, "stat", "needs delay accounting (kernel.task_delayacct)",
            _moved("block_ns")),
    Measure("process_read", "reads", Unit.BYTES, "io", "from storage", _moved("read_bytes")),
    Measure("process_written", "writes", Unit.BYTES, "io", "to storage", _moved("written_bytes")),
    Measure("process_faults", "major faults", Unit.RATE, "stat", "pages that had to be read",
            _moved("major_faults"), minor=True),
    Measure("process_switches", "switches", Unit.RATE, "status", "context switches, voluntary and involuntary",
            lambda followed: followed.switches),
)  # fmt: skip
"""The measures of a followed process."""


def find(name: str) -> Measure[Load]:
    """Return the measure with a name. Raises KeyError."""
    for result in MEASURES:
        if result.name == name:
            return result
    raise KeyError(name)
