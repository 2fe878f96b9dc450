"""Files of state machines, and of programs that were measured as a whole, for the simulator.

    [[task]]
    name = "client"
    count = 4
    steps = ["repeat 100", "compute service", "send requests", "receive replies", "sleep 1ms", "end"]

    [channel]
    requests = 16

    [length]
    service = ["40us", "50us", "90us"]

A channel that is not in `[channel]` has room for 16 messages. With `requests = { room = 270, drained = 67 }`, all tasks
that wait for room continue when only 67 messages are left; otherwise one continues with each message that is read. A
length is a distribution, given by quantiles at equal distances from the smallest to the largest, from which each time
is drawn. `simulate --measure` writes rows `[[measured]]` (`measured_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from becalm.errors import UsageError
from becalm.files.tables import check_keys, read_toml
from becalm.hosts.simulated.scheduler.knobs import CLASSES
from becalm.hosts.simulated.scheduler.measured import measured_rows
from becalm.units import duration_ns

ROOM = 16
"""The default number of messages that a channel holds."""

BY_THE_MESSAGE = 2**32 - 1
"""The engine's value for a channel that lets one task go on with each message that is read."""

MOST_ROOM = 2**31

FOREVER = 2**62
"""The number of repetitions of `repeat forever`."""

KEYS = ("name", "count", "steps", "nice", "policy", "slice", "start")
PARTS = ("task", "channel", "length", "measured", "cpus")
MOST = 1_000_000


@dataclass(slots=True)
class NameTable:
    """Channels and lengths by name, in the order of their numbers."""

    where: str
    channels: dict[str, int] = field(default_factory=dict)
    room: list[int] = field(default_factory=list)
    drained: list[int] = field(default_factory=list)
    lengths: dict[str, int] = field(default_factory=dict)
    quantiles: list[list[int]] = field(default_factory=list)

    def channel(self, name: str, room: int = ROOM, drained: int | None = None) -> int:
        """Return the number of a channel, adding a new one with this `room`, which wakes tasks that wait for room when
        `drained` messages are left."""
        if name not in self.channels:
            self.channels[name] = len(self.room)
            self.room.append(room)
            self.drained.append(BY_THE_MESSAGE if drained is None else drained)
        return self.channels[name]

    def length(self, values: Sequence[int], name: str | None = None) -> int:
        """Add a distribution, with an optional name, and return its number."""
        self.quantiles.append(list(values))
        if name is not None:
            self.lengths[name] = len(self.quantiles) - 1
        return len(self.quantiles) - 1


def read(path: Path) -> dict[str, Any]:
    """Return a file in the engine's form. Raises UsageError for an invalid file, with the position."""
    return of_document(read_toml(path), str(path))


def of_document(document: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the contents of a file in the engine's form (`Workload` in crates/becalm-sim/src/workload.rs)."""
    check_keys(document, PARTS, where)
    rows, measured = document.get("task", []), document.get("measured", [])
    if not isinstance(rows, list) or not isinstance(measured, list) or not (rows or measured):
        raise UsageError(f"{where} has no [[task]] and no [[measured]].")
    names = NameTable(where)
    for name, size in _table(document, "channel", where).items():
        names.channel(name, *_size(size, f"{where}: channel {name}"))
    for name, values in _table(document, "length", where).items():
        names.length(_quantiles(values, f"{where}: length {name}"), name)
    programs: list[list[Any]] = []
    tasks: list[dict[str, Any]] = []
    for row in rows:
        tasks += _tasks(row, programs, names)
    more: dict[str, Any] = {}
    if measured:
        measured_programs = measured_rows(measured, document.get("cpus"), where, _quantiles)
        for kind, solo, threads, count in measured_programs.programs:
            solo_number = names.length(solo)
            for number in range(count):
                programs.append([{"advance": len(more.setdefault("measured", []))}])
                more["measured"].append({"kind": kind, "solo": solo_number})
                program_name = (
                    measured_programs.names[kind] if count == 1 else f"{measured_programs.names[kind]} {number}"
                )
                tasks += [
                    {"name": f"{program_name}, thread {thread}", "program": len(programs) - 1}
                    for thread in range(threads)
                ]
        more["kinds"], more["waits"] = measured_programs.kinds, measured_programs.waits
    if len(tasks) > MOST:
        raise UsageError(f"{where} has {len(tasks)} tasks; the simulator takes {MOST} of a file at most.")
    return {
        "programs": programs, "tasks": tasks, "room": names.room, "channels": list(names.channels),
        "drained": names.drained, "lengths": names.quantiles, **more,
    }  # fmt: skip


def _table(document: Mapping[str, Any], part: str, where: str) -> Mapping[str, Any]:
    result = document.get(part, {})
    if not isinstance(result, dict):
        raise UsageError(f"{where}: [{part}] has a line for each {part}, not {result!r}.")
    return result


def _size(size: object, where: str) -> tuple[int, int | None]:
    """Return the room of a channel, and the number of messages at which all tasks that wait for room are woken."""
    table = size if isinstance(size, dict) else {"room": size}
    check_keys(table, ("room", "drained"), where)
    room, drained = table.get("room", ROOM), table.get("drained")
    if not isinstance(room, int) or not 1 <= room <= MOST_ROOM:
        raise UsageError(f"{where} has room for 1 message or more, not {room!r}.")
    if drained is not None and (not isinstance(drained, int) or not 0 <= drained < room):
        raise UsageError(f"{where}: drained is a number from 0 to {room - 1}, not {drained!r}.")
    return room, drained


def _quantiles(values: object, where: str) -> list[int]:
    """Return quantiles in ascending order, ns; a single one is a constant."""
    texts = values if isinstance(values, list) else [values]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise UsageError(f'{where} is a time or a list of quantiles: ["40us", "50us", "90us"], not {values!r}.')
    result = [time_of(text, where) for text in texts]
    if result != sorted(result):
        raise UsageError(f"{where}: quantiles go from the smallest to the largest.")
    return result


def time_of(text: object, where: str) -> int:
    """Return a time of a workload, ns. Raises UsageError for an invalid one, with the position."""
    try:
        return duration_ns(str(text))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _tasks(row: object, programs: list[list[Any]], names: NameTable) -> list[dict[str, Any]]:
    """Return the tasks of a row [[task]], and add their steps to `programs`."""
    if not isinstance(row, dict):
        raise UsageError(f"{names.where} has no [[task]] but {row!r}.")
    where = f"{names.where}, task {row.get('name', len(programs) + 1)}"
    check_keys(row, KEYS, where)
    steps = row.get("steps")
    if not isinstance(steps, list) or not steps:
        raise UsageError(f'{where} has no steps: steps = ["compute 5ms", "sleep 1ms"].')
    programs.append([_step(str(step), where, names) for step in steps])
    count, nice, policy = row.get("count", 1), row.get("nice", 0), row.get("policy", "other")
    if not isinstance(count, int) or not 1 <= count <= MOST:
        raise UsageError(f"{where}: count is a number from 1 to a million, not {count!r}.")
    if not isinstance(nice, int) or not -20 <= nice <= 19:
        raise UsageError(f"{where}: nice is a number from -20 to 19, not {nice!r}.")
    if policy not in CLASSES:
        raise UsageError(f"{where}: policy is other, batch or idle, not {policy!r}.")
    name = str(row.get("name", f"task {len(programs)}"))
    settings = {
        "program": len(programs) - 1,
        "nice": nice,
        "class": policy,
        "slice_ns": time_of(row["slice"], where) if "slice" in row else 0,
        "start_ns": time_of(row["start"], where) if "start" in row else 0,
    }
    return [{"name": name if count == 1 else f"{name} {number}", **settings} for number in range(count)]


def _step(text: str, where: str, names: NameTable) -> Any:
    word, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    if word in ("end", "yield") and not rest:
        return word
    if word in ("compute", "sleep") and rest in names.lengths:
        return {f"{word}_drawn": names.lengths[rest]}
    if word in ("compute", "sleep") and rest:
        return {word: time_of(rest, where)}
    if word in ("send", "receive") and rest:
        return {word: names.channel(rest)}
    if word == "repeat" and (rest == "forever" or (rest.isascii() and rest.isdigit() and int(rest) < FOREVER)):
        return {word: FOREVER if rest == "forever" else int(rest)}
    raise UsageError(
        f"{where}: {text!r} is not a step. Steps are compute 5ms, sleep 1ms, send CHANNEL, receive CHANNEL, yield, "
        "repeat N (or forever) and end; a time may be the name of a [length]."
    )
