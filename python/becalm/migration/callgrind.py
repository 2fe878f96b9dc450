"""Dumps of `valgrind --tool=callgrind --cache-sim=yes --combine-dumps=yes --dump-every-bb=N`: a window each.

Time is counted in instructions: valgrind's clock says nothing about the program's. References are the misses of L1, of
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
"""The names of misses of the last level before valgrind 3.6, which simulated two levels, too."""

HEAD = re.compile(r"(#.*\n|version: *1\s*\n)*(# callgrind format|creator: *callgrind)")


def recognises(head: str) -> bool:
    """Return whether a file begins as callgrind writes them."""
    return HEAD.match(head) is not None


def read(text: str, path: str) -> CountStream:
    """Return windows of the program. Raises UsageError for a file that lacks events, or is cut."""
    task, names, creator = 1, list[str](), "callgrind"
    summary: list[int] | None = None
    parts: list[list[int]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        key, found, rest = line.partition(":")
        rest = rest.strip()
        if not found:
            continue
        if key == "creator":
            creator = rest or creator
        elif key == "pid" and rest.isdecimal() and len(rest) < 10:
            task = int(rest)
        elif key == "events":
            names = _events(rest.split(), path, creator)
        elif key in ("summary", "totals") and names:
            values = rest.split()
            if len(values) > len(names) or not all(each.isdecimal() and len(each) < 18 for each in values):
                raise UsageError(f"Line {number} of {path} is none of callgrind's: {line[:60]!r}.")
            if key == "totals":
                parts.append([int(each) for each in values])
                summary = None
            else:
                # Each dump has both, but for versions that wrote the first only.
                parts += [] if summary is None else [summary]
                summary = [int(each) for each in values]
    parts += [] if summary is None else [summary]
    windows = _windows(parts, names)
    if len(windows) < 2:
        raise UsageError(
            f"{path} has {len(windows)} dumps, and a change is seen between two. Make more: valgrind --tool=callgrind "
            "--cache-sim=yes --combine-dumps=yes --dump-every-bb=100000 PROGRAM"
        )
    return CountStream(
        "callgrind", {"counted": {"task": task, "windows": windows, "ended": True}}, EVENTS, "instructions"
    )


def _events(names: list[str], path: str, creator: str) -> list[str]:
    """Return the names of counters as they are called today. Raises UsageError if one is missing."""
    known = [OLD.get(name, name) for name in names]
    missing = [each for each in ("Ir", *REFERENCES, *MISSES) if each not in known]
    if missing:
        raise UsageError(
            f"{path} is a profile by {creator} without {missing[0]}, which it counts with --cache-sim=yes (before "
            "valgrind 3.6: --simulate-cache=yes)."
        )
    return known


def _windows(parts: list[list[int]], names: list[str]) -> list[list[int | bool]]:
    """Return a window of each dump in which instructions were run."""
    windows: list[list[int | bool]] = []
    at = 0
    for values in parts:
        counts = dict.fromkeys(names, 0) | dict(zip(names, values, strict=False))
        if not counts["Ir"]:
            continue
        references, misses = (sum(counts[each] for each in which) for which in (REFERENCES, MISSES))
        windows.append([at, at + counts["Ir"], references, misses, 0, 0, True])
        at += counts["Ir"]
    return windows
