"""Dumps of `valgrind --tool=callgrind --cache-sim=yes --combine-dumps=yes --dump-every-bb=N`: a window each.

Time is counted in instructions: valgrind's clock says nothing about the program's. References are the misses of L1, of
instructions and data, misses those of the last level, as valgrind simulates them.
"""

from __future__ import annotations

from becalm.errors import UsageError
from becalm.migration.stream import Stream

REFERENCES = ("I1mr", "D1mr", "D1mw")
MISSES = ("ILmr", "DLmr", "DLmw")
EVENTS = "misses of L1 and of the last level, simulated by callgrind"


def recognises(head: str) -> bool:
    """Whether a file begins as callgrind writes them."""
    return head.startswith(("# callgrind format", "version: 1\ncreator: callgrind"))


def read(text: str, path: str) -> Stream:
    """Windows of the program. Raises UsageError for what lacks events, or is cut."""
    task, at = 1, 0
    names: list[str] = []
    windows = []
    for number, line in enumerate(text.splitlines(), start=1):
        key, found, rest = line.partition(": ")
        if not found:
            continue
        if key == "pid" and rest.isdecimal() and len(rest) < 10:
            task = int(rest)
        elif key == "events":
            names = rest.split()
            missing = [each for each in ("Ir", *REFERENCES, *MISSES) if each not in names]
            if missing:
                raise UsageError(f"{path} has no {missing[0]}: run callgrind with --cache-sim=yes.")
        elif key == "totals":
            values = rest.split()
            if len(values) > len(names) or not all(each.isdecimal() and len(each) < 18 for each in values):
                raise UsageError(f"Line {number} of {path} is none of callgrind's: {line[:60]!r}.")
            counts = dict.fromkeys(names, 0) | {name: int(each) for name, each in zip(names, values, strict=False)}
            if not counts["Ir"]:
                continue
            references, misses = (sum(counts[each] for each in which) for which in (REFERENCES, MISSES))
            windows.append([at, at + counts["Ir"], references, misses, 0, 0, True])
            at += counts["Ir"]
    if len(windows) < 2:
        raise UsageError(
            f"{path} has {len(windows)} dumps, and a change is seen between two. Make more: valgrind --tool=callgrind "
            "--cache-sim=yes --combine-dumps=yes --dump-every-bb=100000 PROGRAM"
        )
    return Stream("callgrind", {"counted": {"task": task, "windows": windows, "ended": True}}, EVENTS, "instructions")
