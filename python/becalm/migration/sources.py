"""Where the detector's streams come from: one table, a row each, and all are read into the same `Stream`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from becalm.errors import UsageError
from becalm.migration import callgrind, perf_data, thesis_log
from becalm.migration.stream import Stream

MOST_BYTES = 256 << 20
"""A longer file is refused: it would be held in memory several times."""


@dataclass(frozen=True, slots=True)
class Source:
    """A row. `recognises`: by a file's first 4,096 characters; `read`: its text and its name to a Stream.

    `streamed`: the engine reads the file itself, of any size; its text is not read here.
    """

    name: str
    words: str
    recognises: Callable[[str], bool]
    read: Callable[[str, str], Stream]
    streamed: bool = False


def _records(text: str, path: str) -> Stream:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}.") from None
    records = value.get("records") if isinstance(value, dict) else None
    if not isinstance(records, list):
        raise UsageError(f"{path} has no list of records in it.")
    events = value.get("events", "references and misses, by the file")
    names = value.get("names")
    known = {task: str(name) for task, name in names.items()} if isinstance(names, dict) else {}
    ratio = value.get("miss_ratio") is not False
    return Stream("records", {"records": records}, str(events)[:400], miss_ratio=ratio, names=known)


SOURCES = (
    Source("log", "the thesis's log", thesis_log.recognises, thesis_log.read),
    Source("callgrind", "dumps of callgrind with --cache-sim=yes", callgrind.recognises, callgrind.read),
    Source("perf", "perf.data of perf record with --switch-events", perf_data.recognises, perf_data.read, True),
    Source(
        "records",
        "JSON of records, as `sweetspots --save` writes",
        lambda head: head.lstrip()[:1] == "{",
        _records,
    ),
)
"""In the order in which files are recognised. Simulated caches and synthetic streams are no files: see `simulated`."""


def read(path: str | Path) -> Stream:
    """The stream of a file. Raises UsageError: not readable, too large, not recognised, or damaged."""
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            head = file.read(4096).decode("utf-8", "replace")
        found = next((each for each in SOURCES if each.recognises(head)), None)
        if found is not None and found.streamed:
            return found.read("", name)
        if Path(path).stat().st_size > MOST_BYTES:
            raise UsageError(f"{name} has more than {MOST_BYTES >> 20} MiB. Cut it into shorter times.")
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        raise UsageError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if found is not None:
        return found.read(text, name)
    known = "; ".join(each.words for each in SOURCES)
    raise UsageError(f"{name} is none of: {known}.")
