"""Dumps of `valgrind --tool=callgrind --cache-sim=yes --combine-dumps=yes --dump-every-bb=N`, one window each.

Time is counted in instructions, because valgrind changes the speed of the program. References are the misses of L1 for
instructions and data, misses those of the last level, as valgrind simulates them.
"""

from __future__ import annotations

import re

from becalm.errors import UsageError
from becalm.migration.stream import CountStream

REFERENCES = ("I1mr", "D1mr", "D1mw")
MISSES = ("ILmr", "DLmr", "DLmw")
EVENTS = "misses of L1 and of the last level, simulated by callgrind"


OLD = {"I2mr": "ILmr", "D2mr": "DLmr", "D2mw": "DLmw"}
"""The names of misses of the last level before valgrind 3.6."""

HEAD = re.compile(r"(#.*\n|version: *1\s*\n)*(# callgrind format|creator: *callgrind)")


def recognises(head: str) -> bool:
    """Return whether a file begins like one of callgrind."""
    return HEAD.match(head) is not None


def read(text: str, path: str) -> CountStream:
    """Return the windows of the program. Raises UsageError for a file that lacks events, or is cut off."""
    task, names, creator = 1, list[str](), "callgrind"
    summary: list[int] | None = None
    dumps: list[list[int]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        key, colon, rest = line.partition(":")
        rest = rest.strip()
        if not colon:
            continue
        if key == "creator":
            creator = rest or creator
        elif key == "pid" and rest.isdecimal() and len(rest) < 10:
            task = int(rest)
        elif key == "events":
            names = _events(rest.split(), path, creator)
        elif key in ("summary", "totals") and names:
            values = rest.split()
            if len(values) > len(names) or not all(value.isdecimal() and len(value) < 18 for value in values):
                raise UsageError(f"Line {number} of {path} is not output of callgrind: {line[:60]!r}.")
            if key == "totals":
                dumps.append([int(value) for value in values])
                summary = None
            else:
                # Each dump has a summary and totals; some versions wrote only the summary.
                dumps += [] if summary is None else [summary]
                summary = [int(value) for value in values]
    dumps += [] if summary is None else [summary]
    windows = _windows(dumps, names)
    if len(windows) < 2:
        raise UsageError(
            f"{path} has {len(windows)} dumps, and detection needs two. Make more: valgrind --tool=callgrind "
            "--cache-sim=yes --combine-dumps=yes --dump-every-bb=100000 PROGRAM"
        )
    return CountStream(
        "callgrind", {"counted": {"task": task, "windows": windows, "ended": True}}, EVENTS, "instructions"
    )


def _events(names: list[str], path: str, creator: str) -> list[str]:
    """Return the current names of counters. Raises UsageError if one is missing."""
    current = [OLD.get(name, name) for name in names]
    missing = [name for name in ("Ir", *REFERENCES, *MISSES) if name not in current]
    if missing:
        raise UsageError(
            f"{path} is a profile by {creator} without {missing[0]}, which it counts with --cache-sim=yes (before "
            "valgrind 3.6: --simulate-cache=yes)."
        )
    return current


def _windows(dumps: list[list[int]], names: list[str]) -> list[list[int | bool]]:
    """Return a window for each dump with instructions."""
    windows: list[list[int | bool]] = []
    at = 0
    for values in dumps:
        counts = dict.fromkeys(names, 0) | dict(zip(names, values, strict=False))
        if not counts["Ir"]:
            continue
        references, misses = (sum(counts[name] for name in group) for group in (REFERENCES, MISSES))
        windows.append([at, at + counts["Ir"], references, misses, 0, 0, True])
        at += counts["Ir"]
    return windows
