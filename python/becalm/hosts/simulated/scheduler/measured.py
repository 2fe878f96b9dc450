"""Programs that were measured as a whole: `[[measured]]` of a file, and the speeds that follow from it.

    cpus = 2

    [[measured]]
    name = "gzip"
    solo = ["1.02s", "1.05s", "1.1s"]
    busy = 1.0
    threads = 1
    count = 4
    beside = { gzip = 0.93 }

`solo`: how long it takes alone, by quantiles; `busy`: CPUs that it keeps busy then; `beside`: its speed beside each
program of the file, alone / combined (Anderson 2013, ch. 3, eq. 3.1). A thread brings its program forward by 1/busy of
a tick while it has the machine to itself. Beside another, both had to share the `cpus` that it was measured on, in
proportion to what they keep busy, so that a thread does alone / combined over its share of CPUs (3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from becalm.errors import UsageError
from becalm.files.tables import check_keys

KEYS = ("name", "solo", "busy", "threads", "count", "beside")
FASTEST = 100.0
"""More than so many times as fast beside another as alone is a slip of the pen."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Kinds as the engine takes them, and of each its name; of each row its kind, quantiles, threads, and count."""

    names: list[str]
    kinds: list[dict[str, Any]]
    programs: list[tuple[int, list[int], int, int]]


def share(own: float, other: float, cpus: int) -> float:
    """CPUs that a program has beside another, by how many each keeps busy alone."""
    return min(own, cpus * own / (own + other))


def measured_rows(
    rows: Sequence[Any], cpus: object, where: str, quantiles: Callable[[object, str], list[int]]
) -> Programs:
    """Check all rows. Raises UsageError."""
    if not isinstance(cpus, int) or not 1 <= cpus <= 8192:
        raise UsageError(f"{where}: `cpus = 2` says on how many CPUs [[measured]] was measured, not {cpus!r}.")
    checked: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        name = row.get("name") if isinstance(row, dict) else None
        if not isinstance(name, str) or not name or name in checked:
            raise UsageError(f"{where}: each [[measured]] has a name of its own, not {name!r}.")
        check_keys(row, KEYS, f"{where}, {name}")
        checked[name] = row
    busy = {name: _number(row.get("busy", 1.0), "busy", f"{where}, {name}", cpus) for name, row in checked.items()}
    kinds, programs = [], []
    for kind, (name, row) in enumerate(checked.items()):
        place = f"{where}, {name}"
        beside = row.get("beside", {})
        if not isinstance(beside, dict) or not all(each in checked for each in beside):
            raise UsageError(f"{place}: beside has a speed for programs of this file, not {beside!r}.")
        speeds = []
        for other in checked:
            # What was never measured beside it shares the CPUs, and does no other harm.
            shared = share(busy[name], busy[other], cpus)
            speed = _number(beside.get(other, shared / busy[name]), f"beside {other}", place, FASTEST)
            speeds.append(speed / shared)
        kinds.append({"alone": 1 / busy[name], "beside": speeds})
        threads = _count(row.get("threads", max(1, round(busy[name]))), "threads", place)
        solo = quantiles(row.get("solo"), f"{place}: solo")
        programs.append((kind, solo, threads, _count(row.get("count", 1), "count", place)))
    return Programs(list(checked), kinds, programs)


def _number(value: object, what: str, where: str, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.01 <= value <= most:
        raise UsageError(f"{where}: {what} is a number from 0.01 to {most:g}, not {value!r}.")
    return float(value)


def _count(value: object, what: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100_000:
        raise UsageError(f"{where}: {what} is a whole number from 1 to 100000, not {value!r}.")
    return value
