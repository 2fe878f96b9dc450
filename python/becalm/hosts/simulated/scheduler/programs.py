"""The programs of a simulated scheduler: hackbench, `spin 20ms`, patterns, and files of state machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from becalm.errors import UsageError
from becalm.hosts.simulated.scheduler import patterns, states

HACKBENCH = {
    "-g": "groups", "--groups": "groups", "-l": "loops", "--loops": "loops", "-f": "fan", "--fds": "fan",
    "--room": "room",
}  # fmt: skip
"""The options of hackbench in the model. `-f 20` means 20 senders and 20 receivers. `--room`, the number of messages
that a socket holds, exists only in the model."""

MOST = 2**32
"""The limit of the engine's numbers (crates/becalm-sim/src/workload/hackbench.rs)."""

UNMODELLED = {
    "-T": "threads instead of processes", "--threads": "threads instead of processes", "thread": "threads",
    "-p": "pipes instead of sockets", "--pipe": "pipes instead of sockets", "-pipe": "pipes instead of sockets",
    "-P": "", "--process": "", "process": "",
    "-s": "the size of a message", "--datasize": "the size of a message",
}  # fmt: skip
"""Words of hackbench that change nothing in the model, and their meaning; empty for the default."""

SIZES = ("-s", "--datasize")
"""The options without effect that take a number."""


def work_of(argv: Sequence[str], directory: str | None = None) -> dict[str, Any]:
    """Return the engine's work for a command line (`Work` in crates/becalm-sim/src/request.rs). Raises UsageError."""
    if not argv:
        raise UsageError("There is no program to simulate.")
    name = Path(argv[0]).name
    if name == "hackbench":
        return {"hackbench": _hackbench(argv[1:])[0]}
    if name == "spin" and len(argv) == 2:
        task = {"name": "spin", "program": 0}
        return {"tasks": {"programs": [[{"compute": states.time_of(argv[1], "spin")}]], "tasks": [task], "room": []}}
    if name.endswith(".toml") and len(argv) == 1:
        return {"tasks": states.read(Path(directory or ".") / argv[0])}
    if len(argv) == 1 and (document := patterns.document_of(argv[0])) is not None:
        return {"tasks": states.of_document(document, argv[0])}
    known = ", ".join(f"{pattern.name}:" for pattern in patterns.TABLE)
    raise UsageError(
        f"A simulated scheduler runs no program {argv[0]!r}. It knows hackbench (-g GROUPS -l LOOPS), spin DURATION, "
        f"{known} and files of state machines: FILE.toml (docs/how-to/simulate.md)."
    )


def endless(work: Mapping[str, Any]) -> str | None:
    """Return the name of a task that never ends by itself, from the work of `work_of`; None if all end."""
    tasks = work.get("tasks")
    if tasks is None:
        return None
    endless_programs = {number for number, steps in enumerate(tasks["programs"]) if {"repeat": states.FOREVER} in steps}
    return next((str(task["name"]) for task in tasks["tasks"] if task["program"] in endless_programs), None)


def unmodelled(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command line that the model ignores, with their meaning: "hackbench -T (threads …)"."""
    if not argv or Path(argv[0]).name != "hackbench":
        return ()
    _, ignored = _hackbench(argv[1:])
    return tuple(f"hackbench {word} ({UNMODELLED[word]})" for word in ignored if UNMODELLED[word])


def _hackbench(words: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Return the numbers of the model, and the words that it ignores. Raises UsageError."""
    numbers: dict[str, int] = {}
    ignored: list[str] = []
    # The old form: GROUPS [process|thread] [LOOPS].
    positions = ["groups", "loops"]
    rest = list(words)
    while rest:
        word = rest.pop(0)
        option, equals, value = word.partition("=")
        if word.isdecimal() and positions:
            name = positions.pop(0)
            numbers[name] = _number(word, name)
            continue
        if option[:2] in (*HACKBENCH, *SIZES) and option[1:2] != "-" and len(option) > 2 and option not in UNMODELLED:
            option, value, equals = option[:2], option[2:], "="
        if option not in HACKBENCH and option not in UNMODELLED:
            known = ", ".join([*HACKBENCH, *(word for word in UNMODELLED if word.startswith("-"))])
            raise UsageError(f"The model of hackbench has no option {word!r}. It knows {known}.")
        if not equals and (option in HACKBENCH or option in SIZES):
            value = rest.pop(0) if rest else ""
        if option in HACKBENCH:
            numbers[HACKBENCH[option]] = _number(value, option)
        else:
            ignored.append(option)
            if option in SIZES:
                _number(value, option)
    return numbers, ignored


def _number(value: str, option: str) -> int:
    if not value.isdecimal() or not 0 < int(value) < MOST:
        raise UsageError(f"hackbench {option} takes a number above 0 and below {MOST}, not {value!r}.")
    return int(value)
