"""Workloads of the cache simulator, as typed: `matrixmult:187,5@0 memeater:1M@1`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from becalm.errors import UsageError
from becalm.files.kinds import LACKEY, describe, kind_of
from becalm.files.text import SAMPLE, plain_file
from becalm.units import size_bytes

EVENTS = "references and misses of a simulated last-level cache"


class SpotWorkload(msgspec.Struct, frozen=True):
    """A workload. `form`: its arguments as typed; `program`: a function that turns them into the form for
    becalm-sim."""

    name: str
    form: str
    words: str
    program: Callable[[Sequence[str]], Mapping[str, Any]]


WORKLOADS = (
    SpotWorkload(
        "matrixmult", "N,REPEATS", "products of N × N integers",
        lambda a: {"n": _whole(a[0]), "repeats": _whole(a[1])},
    ),
    SpotWorkload("memeater", "SIZE", "increments a buffer for ever", lambda a: {"bytes": size_bytes(a[0])}),
    SpotWorkload("cpuburner", "", "touches no memory", lambda _: {}),
    SpotWorkload("change", "SIZE", "both in turn, 2 s each", lambda a: {"bytes": size_bytes(a[0])}),
    SpotWorkload(
        "phases", "SIZE,SWEEPS,PHASES", "sweeps over data that are new in each phase",
        lambda a: {"bytes": size_bytes(a[0]), "sweeps": _whole(a[1]), "phases": _whole(a[2])},
    ),
    SpotWorkload("trace", "FILE", "a trace of valgrind's lackey", lambda a: {"path": a[0]}),
)  # fmt: skip


_TRACE = re.compile(r"(.+?)(?:@(\d{1,9}))?", re.DOTALL)


def _check_trace(path: str) -> None:
    """Raise UsageError for a file of another known kind than a trace."""
    if Path(path).is_file():
        with Path(path).open("rb") as file:
            head = file.read(SAMPLE)
        kind = kind_of(head)
        if kind is not None and kind is not LACKEY:
            raise UsageError(describe(head, path, "A trace is written by: valgrind --tool=lackey --trace-mem=yes"))


def cache_of(size: float | str) -> dict[str, int]:
    """Return a simulated last-level cache of a size, with 12 ways or a number that divides it. Raises UsageError."""
    number = size_bytes(size)
    ways = next((ways for ways in WAYS if number % (ways * LINE) == 0), None)
    if ways is None:
        raise UsageError(f"A cache has lines of {LINE} bytes: {size!r} is not a multiple of that.")
    return {"bytes": number, "ways": ways}


WAYS = (12, 16, 11, 10, 20, 8, 15, 14, 9, 6, 4, 2, 1)
"""The numbers of ways to try for a simulated cache: 12 as on the machines of the thesis, then usual ones."""

LINE = 64
"""The size of a cache line, in bytes."""


def _whole(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10):
        raise UsageError(f"{text!r} is not a whole number.")
    return int(text)


def task(text: str, files: ExitStack | None = None) -> dict[str, Any]:
    """Return the workload of a text, with the CPU on which it begins. Raises UsageError.

    `files`: a stack that keeps plain copies of traces that are packed or in UTF-16.
    """
    # A path may contain an @, too.
    typed, _, cpu = text.rpartition("@") if re.search(r"@\d*$", text) else (text, "", "")
    if text.startswith("trace:"):
        # In a file name, only a number after the last @ is a CPU.
        named = _TRACE.fullmatch(text)
        typed, cpu = (named[1], named[2] or "") if named else (text, "")
    name, _, rest = typed.partition(":")
    for row in WORKLOADS:
        if row.name == name:
            count = len(row.form.split(",")) if row.form else 0
            arguments = (rest.split(",") if count > 1 else [rest]) if rest else []
            if len(arguments) != count:
                raise UsageError(f"{text!r} is not complete: {name}{':' if row.form else ''}{row.form}.")
            if name == "trace" and files is not None:
                _check_trace(arguments[0])
                arguments = [files.enter_context(plain_file(arguments[0]))]
            return {"program": {name: row.program(arguments)}, "cpu": _whole(cpu or "0")}
    known = ", ".join(f"{row.name}{':' if row.form else ''}{row.form}" for row in WORKLOADS)
    raise UsageError(f"There is no workload {name!r}. There are: {known}. Each may be followed by @CPU.")
