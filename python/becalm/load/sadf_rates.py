"""The rates of an interval of sysstat, each checked against its bounds: impossible ones are unknown, and reported.

Restarts, wrapped counters and processors that come back make sysstat print shares above 100 %, rates of 3.7e18 and rows
of zeros (its issues 14, 167, 188, 259 and 433).

Two layouts are known (json_stats.c of sysstat): newer ones have rkB and wkB of disks, older ones only rd_sec and
wr_sec, in sectors of 512 bytes. `sadf -j -- -u` includes interrupts in "system", `-u ALL` has them apart.

Public: ImpossibleValues, amounts, number, queue.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

PAGE = 4096
"""Bytes of a page, which the file does not contain: right for x86, and for most other machines."""

STACKED = re.compile(r"(dm-|md|loop|zram|ram|sr|fd|nbd)\d*")
"""Devices that count other disks' bytes again, or have no bytes of their own."""


SHARE, ROUNDED_SHARE = 100.0, 110.0
"""A share in %, and the value up to which one above it is a rounded 100 (sysstat issues 188 and 259)."""

WHOLE = (95.0, 105.0)
"""The sum of all shares of a processor in %; a row of zeros is a processor that was not seen."""

MOST_BYTES = 100e9
"""A rate in bytes per second that no disk and no network interface reaches."""

MOST_EVENTS = 1e10
"""A rate of events, packets or pages per second that no machine reaches."""

SHOWN = 5
"""The number of reasons that are shown for a record."""


MOST_QUEUE = 1 << 22
"""A number of tasks above that of any kernel (PID_MAX_LIMIT)."""

Rates = dict[str, float | None]


class ImpossibleValues:
    """The impossible values of a record: each reason with its count and its first place."""

    def __init__(self) -> None:
        self.reasons: dict[str, list[str]] = {}

    def add(self, where: str, what: str) -> None:
        """Count one more of a kind. `what`: the reason with its value; the first one of each kind is shown."""
        kind = re.sub(r"-?[\d.,]+(e[+-]?\d+)?", "", what)
        self.reasons.setdefault(kind, []).append(f"{where}: {what}")

    def sentences(self) -> list[str]:
        """Return a sentence for each shown kind, and one for all the others."""
        shown = [
            f"{cases[0]}." if len(cases) == 1 else f"{cases[0]}; {len(cases) - 1:,} more like it."
            for cases in list(self.reasons.values())[:SHOWN]
        ]
        rest = sum(map(len, list(self.reasons.values())[SHOWN:]))
        return shown + ([f"{rest:,} more values that cannot be are unknown."] if rest else [])


def number(value: Any) -> float | None:
    """Return the value as a finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        result = float(value)
    except OverflowError:
        return None
    return result if math.isfinite(result) else None


def _table(row: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return an object within objects; empty where there is none."""
    value: Any = row
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _list(row: Mapping[str, Any], *names: str) -> list[Mapping[str, Any]]:
    """Return the objects of a list; empty where there is none."""
    value = _table(row, *names[:-1]).get(names[-1])
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


class _Values(msgspec.Struct, frozen=True):
    """The numbers of an interval, each checked against its bounds; others are unknown, and reported."""

    where: str
    left_out: ImpossibleValues

    def rate(self, row: Mapping[str, Any], name: str, factor: float = 1.0, most: float = MOST_EVENTS) -> float | None:
        """Return a value times a factor; None where it is missing or impossible."""
        if name not in row:
            return None
        value = number(row[name])
        if value is None or not 0 <= value * factor <= most:
            self.left_out.add(self.where, f"{name} of {shown(row[name])} cannot be, and is unknown")
            return None
        return value * factor

    def share(self, row: Mapping[str, Any], name: str) -> float | None:
        """Return a share, at most 100 %: rounding may lift it above."""
        value = self.rate(row, name, 1.0, ROUNDED_SHARE)
        return None if value is None else min(SHARE, value)

    def total(self, values: Iterable[float | None]) -> float | None:
        """Return a sum; None where a part of it is unknown."""
        known = list(values)
        return None if None in known else math.fsum(value for value in known if value is not None)


def shown(value: Any) -> str:
    """Return a value of a file, shortened for a message."""
    known = number(value)
    return f"{value!r:.24}" if known is None else f"{known:,.10g}"


def _processors(row: Mapping[str, Any], cpus: int | None, values: _Values) -> Rates:
    """Return the time of all processors, ns a second."""
    rows = _list(row, "cpu-load") or _list(row, "cpu-load-all")
    whole = next((row for row in rows if row.get("cpu") == "all"), None)
    if whole is None or not cpus:
        return {}
    apart = "usr" in whole
    busy = ("usr", "nice", "sys", "guest", "gnice") if apart else ("user", "nice", "system")
    # Versions before 10.1 have no guest times, and some have no steal.
    names = [name for name in (*busy, "idle", "iowait", "steal", "irq", "soft") if name in whole]
    shares = {name: values.share(whole, name) for name in names}
    total = values.total(shares.values())
    if total is None or "idle" not in shares:
        return {}
    if not WHOLE[0] <= total <= WHOLE[1]:
        values.left_out.add(values.where, f"the shares of the CPUs add up to {shown(total)} % and are unknown")
        return {}

    def time(*some: str) -> float | None:
        parts = [shares[name] for name in some if name in shares]
        return math.fsum(part or 0.0 for part in parts) / 100 * cpus * 1e9 if parts else None

    return {
        # Without -u ALL interrupts are in the system time, and unknown by themselves.
        "busy_ns": time(*busy),
        "idle_ns": time("idle", "iowait"),
        "iowait_ns": time("iowait"),
        "steal_ns": time("steal"),
        "irq_ns": time("irq") if apart else None,
        "softirq_ns": time("soft") if apart else None,
    }


def _paging(row: Mapping[str, Any], values: _Values) -> Rates:
    swap, paging = _table(row, "swap-pages"), _table(row, "paging")
    return {
        "swap_out_bytes": values.rate(swap, "pswpout", PAGE, MOST_BYTES),
        "swap_in_bytes": values.rate(swap, "pswpin", PAGE, MOST_BYTES),
        "major_faults": values.rate(paging, "majflt"),
    }


def _disks(row: Mapping[str, Any], values: _Values) -> Rates:
    disks = [disk for disk in _list(row, "disk") if not STACKED.fullmatch(str(disk.get("disk-device")))]
    if not disks:
        return {}
    busy = [values.share(disk, "util-percent") for disk in disks]
    if any(share is None and "util-percent" in disk for share, disk in zip(busy, disks, strict=True)):
        # All counters of a disk wrap together.
        return {}

    def moved(kilobytes: str, sectors: str) -> float | None:
        return values.total(
            values.rate(disk, kilobytes, 1024, MOST_BYTES)
            if kilobytes in disk
            else values.rate(disk, sectors, 512, MOST_BYTES)
            for disk in disks
        )

    total = values.total(busy)
    return {
        "disk_read_bytes": moved("rkB", "rd_sec"),
        "disk_write_bytes": moved("wkB", "wr_sec"),
        "disk_busy_ns": None if total is None else total / 100 * 1e9,
    }


def _network(row: Mapping[str, Any], values: _Values) -> Rates:
    network = _table(row, "network")
    devices, errors = _list(network, "net-dev"), _list(network, "net-edev")
    rates: Rates = {}

    def total(rows: Iterable[Mapping[str, Any]], names: Sequence[str], factor: float, most: float) -> float | None:
        return values.total([values.rate(row, name, factor, most) for row in rows for name in names])

    if devices:
        real = [device for device in devices if device.get("iface") != "lo"]
        loopback = [device for device in devices if device.get("iface") == "lo"]
        rates = {
            "net_in_bytes": total(real, ("rxkB",), 1024, MOST_BYTES),
            "net_out_bytes": total(real, ("txkB",), 1024, MOST_BYTES),
            "net_packets": total(real, ("rxpck", "txpck"), 1, MOST_EVENTS),
            "loopback_bytes": total(loopback, ("rxkB",), 1024, MOST_BYTES),
        }
    if errors:
        real = [error for error in errors if error.get("iface") != "lo"]
        rates["net_errors"] = total(real, ("rxerr", "txerr", "coll", "rxdrop", "txdrop"), 1, MOST_EVENTS)
    return rates


def _rest(row: Mapping[str, Any], values: _Values) -> Rates:
    nfs = _table(row, "network", "net-nfs")
    every = next((interrupt for interrupt in _list(row, "interrupts") if interrupt.get("intr") == "sum"), {})
    return {
        "nfs_calls": values.rate(nfs, "call"),
        "nfs_retransmissions": values.rate(nfs, "retrans"),
        "switches": values.rate(_table(row, "process-and-context-switch"), "cswch"),
        "interrupts": values.rate(every, "all" if "all" in every else "value"),
    }


def amounts(row: Mapping[str, Any], cpus: int | None, seconds: int, where: str, left_out: ImpossibleValues) -> Rates:
    """Return the amounts that add up over an interval, by the fields of a Load; impossible ones are None."""
    values = _Values(where, left_out)
    rates: Rates = {}
    for part in (_processors(row, cpus, values), _paging(row, values), _disks(row, values), _network(row, values)):
        rates |= part
    rates |= _rest(row, values)
    return {name: None if rate is None else rate * seconds for name, rate in rates.items()}


def queue(row: Mapping[str, Any], where: str, left_out: ImpossibleValues) -> float | None:
    """Return the length of the run queue at the end of an interval."""
    return _Values(where, left_out).rate(_table(row, "queue"), "runq-sz", 1.0, MOST_QUEUE)
