"""What sysstat recorded, as `sadf -j` writes it: intervals, and the Loads of runs that fell into them.

Runs that were measured without a record of load, while sar ran on the same machine, get one by their time stamps.
sysstat prints rates over whole seconds or minutes: a Load made here covers all intervals that a run touched, and all
runs that touched the same ones. What a file does not hold is None.

Two layouts are known (json_stats.c of sysstat): newer ones have rkB and wkB of disks, older ones rd_sec and wr_sec
alone, in sectors of 512 bytes. `sadf -j -- -u` sums interrupts into "system", `-u ALL` has them apart.

Public: Interval, read, loads.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, pairwise
from typing import Any

from becalm.errors import UsageError
from becalm.load.record import Load
from becalm.nouns.run import Run

PAGE = 4096
"""Bytes of a page, which the file does not say: right for x86, and for most other machines."""

ROUNDING_NS = 10**9
"""Ends and lengths are written in whole seconds, so neighbours may seem that far apart."""

STACKED = re.compile(r"(dm-|md|loop|zram|ram|sr|fd|nbd)\d*")
"""Devices that count other disks' bytes again, or have none."""


@dataclass(frozen=True, slots=True)
class Interval:
    """One interval: from `begin_ns` to `end_ns` (Unix time), and what sar says of it as the fields of a Load."""

    begin_ns: int
    end_ns: int
    amounts: Mapping[str, float | None]
    """What adds up over intervals."""
    cpus: int | None
    queue: float | None

    @property
    def length_ns(self) -> int:
        """How long it was."""
        return self.end_ns - self.begin_ns


def read(text: str, host: str | None = None) -> list[Interval]:
    """The intervals of a file, in order of time. `host`: of several machines' records, only this one's.

    Raises UsageError for a text that is none of sadf's, in local time, or of other machines alone.
    """
    try:
        machines = json.loads(text)["sysstat"]["hosts"]
        found = [
            interval
            for machine in machines
            if host is None or machine["nodename"].split(".")[0] == host.split(".")[0]
            for interval in (_interval(each, machine) for each in machine["statistics"])
            if interval is not None
        ]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise UsageError(
            f"This is not a sysstat record: {type(error).__name__} {error}. Write one with: sadf -j FILE -- -A"
        ) from error
    if not found:
        names = ", ".join(sorted({str(machine.get("nodename")) for machine in machines})) or "no machine"
        raise UsageError(f"The record has nothing about {host or 'any machine'}: it is of {names}.")
    return sorted(found, key=lambda each: each.begin_ns)


def _interval(said: Mapping[str, Any], machine: Mapping[str, Any]) -> Interval | None:
    stamp = said.get("timestamp")
    if stamp is None or stamp["interval"] <= 0:
        return None
    if not stamp.get("utc"):
        raise UsageError("The record is in local time, which is ambiguous. Leave out the options -T and -t of sadf.")
    moment = datetime.fromisoformat(f"{stamp['date']}T{stamp['time']}").replace(tzinfo=UTC)
    end_ns, seconds = round(moment.timestamp()) * 10**9, int(stamp["interval"])
    cpus = machine.get("number-of-cpus")
    amounts: dict[str, float | None] = {}
    for part in (_processors(said, cpus), _paging(said), _disks(said), _network(said), _rest(said)):
        amounts |= {name: None if rate is None else rate * seconds for name, rate in part.items()}
    queue = said.get("queue", {}).get("runq-sz")
    return Interval(end_ns - seconds * 10**9, end_ns, amounts, cpus, None if queue is None else float(queue))


Rates = dict[str, float | None]


def _processors(said: Mapping[str, Any], cpus: int | None) -> Rates:
    """Time of all processors, ns a second."""
    rows = said.get("cpu-load") or said.get("cpu-load-all") or []
    whole = next((each for each in rows if each["cpu"] == "all"), None)
    if whole is None or not cpus:
        return {}
    apart = "usr" in whole

    def time(*names: str) -> float:
        return math.fsum(whole[name] for name in names) / 100 * cpus * 1e9

    names = ("usr", "nice", "sys", "guest", "gnice") if apart else ("user", "nice", "system")
    return {
        # Without -u ALL interrupts are in the system time, and unknown by themselves.
        "busy_ns": time(*names),
        "idle_ns": time("idle", "iowait"),
        "iowait_ns": time("iowait"),
        "steal_ns": time("steal"),
        "irq_ns": time("irq") if apart else None,
        "softirq_ns": time("soft") if apart else None,
    }


def _paging(said: Mapping[str, Any]) -> Rates:
    swap, paging = said.get("swap-pages", {}), said.get("paging", {})
    return {
        "swap_out_bytes": _times(swap.get("pswpout"), PAGE),
        "swap_in_bytes": _times(swap.get("pswpin"), PAGE),
        "major_faults": paging.get("majflt"),
    }


def _disks(said: Mapping[str, Any]) -> Rates:
    disks = [each for each in said.get("disk", []) if not STACKED.fullmatch(each["disk-device"])]
    if not disks:
        return {}

    def rate(kilobytes: str, sectors: str) -> float:
        return math.fsum(each[kilobytes] * 1024 if kilobytes in each else each[sectors] * 512 for each in disks)

    return {
        "disk_read_bytes": rate("rkB", "rd_sec"),
        "disk_write_bytes": rate("wkB", "wr_sec"),
        "disk_busy_ns": math.fsum(each["util-percent"] for each in disks) / 100 * 1e9,
    }


def _network(said: Mapping[str, Any]) -> Rates:
    network = said.get("network", {})
    devices, errors = network.get("net-dev"), network.get("net-edev")
    rates: Rates = {}
    if devices is not None:
        real = [each for each in devices if each["iface"] != "lo"]
        rates = {
            "net_in_bytes": math.fsum(each["rxkB"] * 1024 for each in real),
            "net_out_bytes": math.fsum(each["txkB"] * 1024 for each in real),
            "net_packets": math.fsum(each["rxpck"] + each["txpck"] for each in real),
            "loopback_bytes": math.fsum(each["rxkB"] * 1024 for each in devices if each["iface"] == "lo"),
        }
    if errors is not None:
        names = ("rxerr", "txerr", "coll", "rxdrop", "txdrop")
        rates["net_errors"] = math.fsum(each[name] for each in errors if each["iface"] != "lo" for name in names)
    return rates


def _rest(said: Mapping[str, Any]) -> Rates:
    nfs = said.get("network", {}).get("net-nfs", {})
    every = [each for each in said.get("interrupts", []) if each["intr"] == "sum"]
    return {
        "nfs_calls": nfs.get("call"),
        "nfs_retransmissions": nfs.get("retrans"),
        "switches": said.get("process-and-context-switch", {}).get("cswch"),
        "interrupts": every[0].get("all", every[0].get("value")) if every else None,
    }


def _times(rate: float | None, factor: float) -> float | None:
    return None if rate is None else rate * factor


def loads(intervals: Sequence[Interval], runs: Iterable[Run]) -> list[Load]:
    """A Load for each group of neighbouring runs that touched the same intervals; runs outside of all have none.

    A run has a Load only when the intervals cover all of it without a gap.
    """
    made = []
    ordered = sorted(runs, key=lambda run: run.seq)
    for touched, group in groupby(ordered, key=lambda run: _touched(intervals, run)):
        if touched is not None:
            same = list(group)
            made.append(_load(intervals[touched[0] : touched[1] + 1], same[0].seq, same[-1].seq))
    return made


def _touched(intervals: Sequence[Interval], run: Run) -> tuple[int, int] | None:
    """Indices of the first and the last interval that a run lies in; None when a part of it lies in none."""
    end_ns = run.started_ns + run.wall_ns
    inside = [i for i, each in enumerate(intervals) if each.begin_ns < end_ns and each.end_ns > run.started_ns]
    if not inside:
        return None
    part = intervals[inside[0] : inside[-1] + 1]
    gaps = any(later.begin_ns - earlier.end_ns > ROUNDING_NS for earlier, later in pairwise(part))
    whole = part[0].begin_ns <= run.started_ns and part[-1].end_ns >= end_ns
    return (inside[0], inside[-1]) if whole and not gaps else None


def _load(part: Sequence[Interval], first: int, last: int) -> Load:
    total_ns = sum(each.length_ns for each in part)
    queues = [each.queue for each in part]
    known = [queue for queue in queues if queue is not None]
    fields: dict[str, Any] = {}
    for name in {name for each in part for name in each.amounts}:
        values = [each.amounts.get(name) for each in part]
        fields[name] = None if None in values else round(math.fsum(value for value in values if value is not None))
    if len(known) == len(part):
        # Each is one look at the end of its interval; sar's own process is in it.
        fields["queue"] = math.fsum(q * each.length_ns for q, each in zip(known, part, strict=True)) / total_ns
        fields["queue_peak"] = round(max(known))
        fields["samples"] = len(known)
    return Load(first, last, part[0].begin_ns, total_ns, part[0].cpus, **fields)
