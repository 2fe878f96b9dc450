"""Reading logs of the thesis into windows of a program, and writing them.

Lines are `<ns> p1 <ns of window> <misses> <references>` for a program's own counts, `p2` for the others',
`p3 sweetspot1`, `p4 sweetspot2`, `<ns> signal1` for a mark; the first is `Start tracking task with pid N`, the last one
`Finish tracking task with pid N`. A log that was cut off has no last line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from becalm.errors import UsageError
from becalm.migration.stream import CountStream

FIRST = re.compile(r"Start tracking task with pid (\d{1,9})")
LAST = re.compile(r"Finish tracking task with pid (\d{1,9})")
COUNTS = re.compile(r"(\d{1,18}) p([12]) (\d{1,18}) (\d{1,18}) (\d{1,18})")
MARKED = re.compile(r"(\d{1,18}) (p3 sweetspot1|p4 sweetspot2|signal1)")
EVENTS = "references and misses of the last-level cache, as the log has them"


def recognises(head: str) -> bool:
    """Return whether a file begins like such a log."""
    return FIRST.match(head) is not None


def read(text: str, path: str) -> CountStream:
    """Return the windows of the program of a log. Raises UsageError with a line that does not belong to a log."""
    task, ended = 0, False
    windows: dict[int, list[int]] = {}
    marks: list[int] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line:
            continue
        if match := FIRST.fullmatch(line):
            if task:
                raise UsageError(
                    f"{path} has the start of a second program in line {number}. Give each program its own file."
                )
            task = int(match[1])
        elif match := COUNTS.fullmatch(line):
            at, kind, length, misses, references = (int(group) for group in match.groups())
            if length > at or misses > references:
                raise UsageError(
                    f"Line {number} of {path} has more misses than references, or began before 0: {line!r}."
                )
            window = windows.setdefault(at, [at - length, 0, 0, 0, 0])
            window[3 if kind == 2 else 1], window[4 if kind == 2 else 2] = references, misses
        elif match := MARKED.fullmatch(line):
            if match[2] == "signal1":
                marks.append(int(match[1]))
        elif LAST.fullmatch(line):
            ended = True
        else:
            raise UsageError(f"Line {number} of {path} is not a line of the thesis's log: {line[:60]!r}.")
    if not task or not windows:
        raise UsageError(f"{path} has no windows.")
    rows = [[start, at, *counts, True] for at, (start, *counts) in sorted(windows.items())]
    return CountStream("log", {"counted": {"task": task, "windows": rows, "marks": marks, "ended": ended}}, EVENTS)


def written(task: int, windows: Iterable[Mapping[str, Any]], marks: Iterable[int], ended: bool) -> str:
    """Return a log of one program's windows, without unknown windows, for which the form has no line."""
    lines: list[tuple[int, int, str]] = [(at, 0, f"{at} signal1") for at in marks]
    for window in windows:
        at = window["until_ns"]
        if not window["known"]:
            continue
        length = at - window["from_ns"]
        lines.append((at, 1, f"{at} p1 {length} {window['misses']} {window['references']}"))
        lines.append((at, 2, f"{at} p2 {length} {window['others_misses']} {window['others_references']}"))
        lines += [(at, 3, f"{at} p3 sweetspot1")] if window["change"] else []
        lines += [(at, 4, f"{at} p4 sweetspot2")] if window["evicted"] else []
    body = [line for *_, line in sorted(lines)]
    last = [f"Finish tracking task with pid {task}"] if ended else []
    return "\n".join([f"Start tracking task with pid {task}", *body, *last, ""])
