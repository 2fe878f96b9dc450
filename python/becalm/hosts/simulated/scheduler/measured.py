"""Programs that were measured as a whole: the rows `[[measured]]` of a file, and the resulting speeds.

    cpus = 2

    [[measured]]
    name = "gzip"
    solo = ["1.02s", "1.05s", "1.1s"]
    busy = 1.0
    threads = 1
    count = 4
    burst = "1ms"
    alongside = { gzip = 0.93 }

`solo`: quantiles of the time alone; `busy`: the number of CPUs that it keeps busy then; `alongside`: its speed next to
each program of the file, time alone / time combined (Anderson 2013, ch. 3, eq. 3.1). Alone, a thread advances its
program by 1/busy of a tick. In a co-run, both programs share the `cpus` on which they were measured, as a fair
scheduler divides them among threads, so that a thread advances by alone / combined over its share of CPUs (3.2).
Threads that are not always busy run for `burst` on average, and then sleep for the rest of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from becalm.errors import UsageError
from becalm.files.tables import check_keys
from becalm.results.simulate_measured import threads_for

KEYS = ("name", "solo", "busy", "threads", "count", "burst", "alongside")
BURST = "1ms"
LEAST_BURST_NS, MOST_BURST_NS = 1_000, 10_000_000_000
"""The bounds of a burst, ns, as in crates/becalm-sim/src/workload/measured.rs."""

FASTEST = 100.0
"""The largest speed in a co-run relative to that alone; larger values are typing errors."""


class Programs(msgspec.Struct, frozen=True):
    """Programs in the engine's form: names, kinds and waits of each kind, and for each row of the file its kind,
    quantiles, threads and count."""

    names: list[str]
    kinds: list[dict[str, Any]]
    waits: list[dict[str, Any]]
    programs: list[tuple[int, list[int], int, int]]


class CpuDemand(msgspec.Struct, frozen=True):
    """The demand of a program alone: the CPUs that it keeps busy, and its threads."""

    busy: float
    threads: int

    @property
    def running(self) -> float:
        """The share of the time for which one of its threads runs."""
        return min(1.0, self.busy / self.threads)


def share(own: CpuDemand, other: CpuDemand, cpus: int) -> float:
    """Return the number of CPUs that a program gets in a co-run under a fair scheduler.

    Threads that need less than an equal share get what they need (max-min fairness; Bertsekas & Gallager 1992, Data
    Networks, 6.5.2).
    """
    small, large = sorted((own, other), key=lambda demand: demand.running)
    level = cpus / (small.threads + large.threads)
    if level > small.running:
        level = (cpus - small.threads * small.running) / large.threads
    return own.threads * min(own.running, level)


def measured_rows(
    rows: Sequence[Any], cpus: object, where: str, quantiles: Callable[[object, str], list[int]]
) -> Programs:
    """Return the programs of rows. Raises UsageError."""
    if not isinstance(cpus, int) or not 1 <= cpus <= 8192:
        raise UsageError(f"{where}: `cpus = 2` is the number of CPUs on which [[measured]] was measured, not {cpus!r}.")
    checked: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        name = row.get("name") if isinstance(row, dict) else None
        if not isinstance(name, str) or not name or name in checked:
            raise UsageError(f"{where}: each [[measured]] has its own name, not {name!r}.")
        check_keys(row, KEYS, f"{where}, {name}")
        checked[name] = row
    demands = {name: _demand(row, f"{where}, {name}", cpus) for name, row in checked.items()}
    kinds, waits, programs = [], [], []
    for kind, (name, row) in enumerate(checked.items()):
        place = f"{where}, {name}"
        alongside = row.get("alongside", {})
        if not isinstance(alongside, dict) or not all(program in checked for program in alongside):
            raise UsageError(f"{place}: alongside has a speed for programs of this file, not {alongside!r}.")
        own, speeds = demands[name], []
        for other in checked:
            # A program without a measured co-run only shares the CPUs.
            shared = share(own, demands[other], cpus)
            speed = _number(alongside.get(other, shared / own.busy), f"alongside {other}", place, FASTEST)
            speeds.append(speed / shared)
        kinds.append({"alone": 1 / own.busy, "alongside": speeds})
        (burst,) = quantiles(row.get("burst", BURST), f"{place}: burst")
        waits.append({"running": own.running, "burst_ns": min(max(burst, LEAST_BURST_NS), MOST_BURST_NS)})
        solo = quantiles(row.get("solo"), f"{place}: solo")
        programs.append((kind, solo, own.threads, _count(row.get("count", 1), "count", place)))
    return Programs(list(checked), kinds, waits, programs)


def _demand(row: Mapping[str, Any], where: str, cpus: int) -> CpuDemand:
    busy = _number(row.get("busy", 1.0), "busy", where, cpus)
    return CpuDemand(busy, _count(row.get("threads", threads_for(busy)), "threads", where))


def _number(value: object, what: str, where: str, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.01 <= value <= most:
        raise UsageError(f"{where}: {what} is a number from 0.01 to {most:g}, not {value!r}.")
    return float(value)


def _count(value: object, what: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100_000:
        raise UsageError(f"{where}: {what} is a whole number from 1 to 100000, not {value!r}.")
    return value
