"""Programs of the simulator that are described by a few numbers: `requests:clients=8,think=5ms`.

A row of the table makes the state machines that a file would have (`states.read`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from becalm.errors import UsageError
from becalm.nouns.keyed import parse_keyed

MOST_TASKS = 1_000_000

Numbers = Mapping[str, int]
Document = dict[str, Any]


class Pattern(msgspec.Struct, frozen=True):
    """A pattern: its name, a description, defaults of its numbers and times (ns), and a function that makes its
    file."""

    name: str
    what: str
    numbers: Numbers
    times: Numbers
    make: Callable[[Numbers], Document]

    @property
    def tasks(self) -> str:
        """The name of the number of tasks."""
        return next(iter(self.numbers))


def _task(name: str, steps: list[str], count: int = 1) -> Document:
    return {"name": name, "count": count, "steps": steps}


def _pipeline(numbers: Numbers) -> Document:
    last = numbers["stages"] - 1
    tasks = []
    for stage in range(numbers["stages"]):
        before = [f"receive {stage - 1}"] if stage else []
        after = [f"send {stage}"] if stage < last else []
        steps = [f"repeat {numbers['items']}", *before, f"compute {numbers['work']}ns", *after, "end"]
        tasks.append(_task(f"stage {stage}", steps))
    return {"task": tasks, "channel": {str(stage): numbers["room"] for stage in range(last)}}


def _requests(numbers: Numbers) -> Document:
    quotient, remainder = divmod(numbers["clients"] * numbers["requests"], numbers["servers"])
    think, work = f"sleep {numbers['think']}ns", f"compute {numbers['work']}ns"
    client = [f"repeat {numbers['requests']}", think, "send requests", "receive replies", "end"]
    tasks = [_task("client", client, numbers["clients"])]
    for share, count in ((quotient + 1, remainder), (quotient, numbers["servers"] - remainder)):
        if share and count:
            steps = [f"repeat {share}", "receive requests", work, "send replies", "end"]
            tasks.append(_task("server" if share == quotient else "first server", steps, count))
    return {"task": tasks, "channel": dict.fromkeys(("requests", "replies"), numbers["clients"])}


def _spinners(numbers: Numbers) -> Document:
    return {"task": [_task("spinner", [f"compute {numbers['work']}ns"], numbers["tasks"])]}


def _phases(numbers: Numbers) -> Document:
    steps = [f"repeat {numbers['rounds']}", f"compute {numbers['compute']}ns", f"sleep {numbers['sleep']}ns", "end"]
    return {"task": [_task("task", steps, numbers["tasks"])]}


MS = 1_000_000

TABLE = (
    Pattern(
        "pipeline", "items that go from stage to stage, a task each",
        {"stages": 4, "items": 1000, "room": 16}, {"work": 50_000}, _pipeline,
    ),
    Pattern(
        "requests", "clients that think, ask, and wait for the answer of one of the servers",
        {"clients": 8, "servers": 2, "requests": 100}, {"work": 100_000, "think": MS}, _requests,
    ),
    Pattern("spinners", "tasks that compute and do nothing else", {"tasks": 4}, {"work": 100 * MS}, _spinners),
    Pattern(
        "phases", "tasks that compute and sleep in turn",
        {"tasks": 4, "rounds": 100}, {"compute": 5 * MS, "sleep": 5 * MS}, _phases,
    ),
)  # fmt: skip


def document_of(word: str) -> Document | None:
    """Return the file for a word like `pipeline:stages=8`, or None for another word. Raises UsageError."""
    name, _, text = word.partition(":")
    pattern = next((row for row in TABLE if row.name == name), None)
    if pattern is None:
        return None
    numbers: dict[str, int] = dict(pattern.numbers)
    if text:
        numbers = dict(parse_keyed(name, text, pattern.numbers, times=pattern.times).numbers)
    else:
        numbers |= pattern.times
    if (count := sum(numbers[key] for key in ("clients", "servers", pattern.tasks) if key in numbers)) > MOST_TASKS:
        raise UsageError(f"{word} has {count} tasks; the simulator takes {MOST_TASKS} of a pattern at most.")
    return pattern.make(numbers)
