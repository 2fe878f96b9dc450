"""The sources of streams for the detector: one table, whose rows read files into a `CountStream`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from becalm.errors import UsageError
from becalm.files.kinds import describe
from becalm.files.tables import json_value
from becalm.files.text import NotTextError, open_bytes, read_bytes, text_of
from becalm.migration import callgrind, kinds, perf_data, thesis_log
from becalm.migration.stream import CountStream

HEAD = 4096
"""The number of characters at the beginning of a file by which its source is recognised."""


class CountSource(msgspec.Struct, frozen=True):
    """A source. `recognises`: a function of a file's first 4,096 characters; `read`: a function of its text and name.

    `streamed`: whether the engine reads the file itself, of any size.
    """

    name: str
    words: str
    recognises: Callable[[str], bool]
    read: Callable[[str, str], CountStream]
    streamed: bool = False


def _records(text: str, path: str) -> CountStream:
    value = json_value(text, path)
    records = value.get("records") if isinstance(value, dict) else None
    if not isinstance(records, list):
        data = text.encode("utf-8", "replace")
        raise UsageError(describe(data, path, _known(), "has no list of records"))
    events = value.get("events", "references and misses from the file")
    names = value.get("names")
    known = {task: str(name) for task, name in names.items()} if isinstance(names, dict) else {}
    ratio = value.get("miss_ratio") is not False
    looked_at = _looked_at(value, path)
    return CountStream(
        "records", {"records": records}, str(events)[:400], "ns", ratio, known, _kinds(value, ratio), looked_at
    )


def _looked_at(value: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the recorded question: processes, caches as lists of CPUs, and CPUs. Raises UsageError."""
    result = value.get("looked_at", {})
    if not isinstance(result, dict) or not all(
        key in LOOKED_AT and LOOKED_AT[key](numbers) for key, numbers in result.items()
    ):
        raise UsageError(f"{path}: looked_at must have lists of numbers with the names {', '.join(LOOKED_AT)}.")
    return result


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(number) is int and number >= 0 for number in value)


LOOKED_AT: dict[str, Callable[[Any], bool]] = {
    "tasks": _numbers,
    "recorded": _numbers,
    "llc": lambda value: isinstance(value, list) and all(map(_numbers, value)),
}
"""The parts of a question that records may have, with a check of their values."""


def _kinds(value: dict[str, Any], ratio: bool) -> tuple[int, ...]:
    """Return the types of sweet spots that records can show, as named in the file."""
    numbers = value.get("kinds")
    if isinstance(numbers, list) and all(isinstance(number, int) and number in kinds.ALL for number in numbers):
        return tuple(numbers)
    return kinds.of_ratio(ratio)


SOURCES = (
    CountSource("log", "the thesis's log", thesis_log.recognises, thesis_log.read),
    CountSource("callgrind", "dumps of callgrind with --cache-sim=yes", callgrind.recognises, callgrind.read),
    CountSource("perf", "perf.data of perf record with --switch-events", perf_data.recognises, perf_data.read, True),
    CountSource(
        "records",
        "JSON of records, as `sweetspots --save` writes",
        lambda head: head.lstrip()[:1] == "{",
        _records,
    ),
)
"""The sources, in the order in which they are tried. Simulated workloads are in `simulated`."""


def read(path: str | Path) -> CountStream:
    """Return the stream of a file. Raises UsageError if it is unreadable, too large, not recognised, or damaged."""
    name = str(path)
    streamed = [source for source in SOURCES if source.streamed]
    if Path(path).is_file() and (source := _source(_head(name), streamed)):
        return source.read("", name)
    data = read_bytes(name)
    with contextlib.suppress(NotTextError):
        text = text_of(data, legacy=True)
        if (source := _source(text[:HEAD], SOURCES)) is not None:
            return source.read(text, name)
    raise UsageError(describe(data, name, _known()))


def _known() -> str:
    return f"Sweet spots are detected in: {'; '.join(source.words for source in SOURCES)}."


def _source(head: str, sources: Sequence[CountSource]) -> CountSource | None:
    return next((source for source in sources if source.recognises(head)), None)


def _head(path: str) -> str:
    """Return the beginning of a file. Raises UsageError if it cannot be read."""
    try:
        with open_bytes(path) as file:
            return file.read(HEAD).decode("utf-8", "replace")
    except (OSError, NotTextError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
