"""What a simulated scheduler can run: command lines of hackbench, `spin 20ms`, and TOML files of state machines.

A file has tasks, each with steps, and channels with room:

    [[task]]
    name = "client"
    count = 4
    steps = ["repeat 100", "compute 50us", "send requests", "receive replies", "sleep 1ms", "end"]

    [channel]
    requests = 16

Without `[channel]` each channel that is named has room for 16 messages.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from becalm.errors import UsageError
from becalm.hosts.simulated.scheduler.knobs import CLASSES
from becalm.units import duration_ns

ROOM = 16
"""Messages that a channel holds when nothing is said."""

HACKBENCH = {"-g": "groups", "--groups": "groups", "-l": "loops", "--loops": "loops", "-f": "fan", "--fds": "fan"}
"""Options of hackbench that the model goes by. `-f` counts both ends: 20 senders and 20 receivers are 20."""

PLAIN = ("-T", "--threads", "-p", "--pipe", "-P", "--process")
"""Options without meaning for the model: it knows neither threads and processes nor what a message goes through."""

KEYS = {"name", "count", "steps", "nice", "policy", "slice", "start"}


def work_of(argv: Sequence[str], directory: str | None = None) -> dict[str, Any]:
    """What the engine runs for a command line (`Work` in crates/becalm-sim/src/request.rs). Raises UsageError."""
    if not argv:
        raise UsageError("There is no program to simulate.")
    name = Path(argv[0]).name
    if name == "hackbench":
        return {"hackbench": _hackbench(argv[1:])}
    if name == "spin" and len(argv) == 2:
        task = {"name": "spin", "program": 0}
        return {"tasks": {"programs": [[{"compute": duration_ns(argv[1])}]], "tasks": [task], "room": []}}
    if name.endswith(".toml") and len(argv) == 1:
        return {"tasks": read(Path(directory or ".") / argv[0])}
    raise UsageError(
        f"A simulated scheduler runs no program {argv[0]!r}. It knows hackbench (-g GROUPS -l LOOPS), spin DURATION, "
        "and files of state machines: FILE.toml (docs/how-to/simulate.md)."
    )


def _hackbench(words: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        option, equals, value = word.partition("=")
        if option in PLAIN:
            continue
        if option[:2] in HACKBENCH and not option.startswith("--") and len(option) > 2:
            option, value, equals = option[:2], option[2:], "="
        if option not in HACKBENCH:
            known = ", ".join([*HACKBENCH, *PLAIN])
            raise UsageError(f"The model of hackbench has no option {word!r}. It knows {known}.")
        if not equals:
            value = rest.pop(0) if rest else ""
        if not value.isdecimal() or int(value) == 0:
            raise UsageError(f"hackbench {option} takes a number above 0, not {value!r}.")
        found[HACKBENCH[option]] = int(value)
    return found


def read(path: Path) -> dict[str, Any]:
    """A file of state machines, as the engine takes it. Raises UsageError for what is none, with the place."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no TOML: {error}.") from None
    if unknown := sorted(set(document) - {"task", "channel"}):
        raise UsageError(f"{path} has [{unknown[0]}]; a file of state machines has [[task]] and [channel].")
    rows = document.get("task")
    if not isinstance(rows, list) or not rows:
        raise UsageError(f"{path} has no [[task]].")
    channels: dict[str, int] = {}
    room: list[int] = []
    for name, size in document.get("channel", {}).items():
        if not isinstance(size, int) or size < 1:
            raise UsageError(f"{path}: channel {name} has room for 1 message or more, not {size!r}.")
        channels[name] = len(room)
        room.append(size)
    programs: list[list[Any]] = []
    tasks: list[dict[str, Any]] = []
    for row in rows:
        where = f"{path}, task {row.get('name', len(programs) + 1)}"
        if unknown := sorted(set(row) - KEYS):
            raise UsageError(f"{where} has {unknown[0]!r}; a task has {', '.join(sorted(KEYS))}.")
        steps = row.get("steps")
        if not isinstance(steps, list) or not steps:
            raise UsageError(f'{where} has no steps: steps = ["compute 5ms", "sleep 1ms"].')
        programs.append([_step(str(step), where, channels, room) for step in steps])
        count, nice, policy = row.get("count", 1), row.get("nice", 0), row.get("policy", "other")
        if not isinstance(count, int) or not 1 <= count <= 1_000_000:
            raise UsageError(f"{where}: count is a number from 1 to a million, not {count!r}.")
        if not isinstance(nice, int) or not -20 <= nice <= 19:
            raise UsageError(f"{where}: nice is a number from -20 to 19, not {nice!r}.")
        if policy not in CLASSES:
            raise UsageError(f"{where}: policy is other, batch or idle, not {policy!r}.")
        name = str(row.get("name", f"task {len(programs)}"))
        made = {
            "program": len(programs) - 1,
            "nice": nice,
            "class": policy,
            "slice_ns": duration_ns(row["slice"]) if "slice" in row else 0,
            "start_ns": duration_ns(row["start"]) if "start" in row else 0,
        }
        tasks += [{"name": name if count == 1 else f"{name} {number}", **made} for number in range(count)]
    return {"programs": programs, "tasks": tasks, "room": room}


def _step(text: str, where: str, channels: dict[str, int], room: list[int]) -> Any:
    word, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    if word in ("end", "yield") and not rest:
        return word
    if word in ("compute", "sleep") and rest:
        return {word: duration_ns(rest)}
    if word in ("send", "receive") and rest:
        if rest not in channels:
            channels[rest] = len(room)
            room.append(ROOM)
        return {word: channels[rest]}
    if word == "repeat" and (rest.isdecimal() or rest == "forever"):
        return {word: int(rest) if rest.isdecimal() else 2**62}
    raise UsageError(
        f"{where}: {text!r} is no step. Steps are compute 5ms, sleep 1ms, send CHANNEL, receive CHANNEL, yield, "
        "repeat N (or forever) and end."
    )
