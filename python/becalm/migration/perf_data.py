"""Files of `perf record`: the engine reads them record by record, so they may be larger than memory.

It does so in crates/becalm-core/src/source/switches/perf_data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from becalm.migration.stream import CountStream

COMMAND = "perf record -a -c 1 -e '{context-switches,cache-references:u,cache-misses:u}:S' --switch-events"


def recognises(head: str) -> bool:
    """Return whether a file begins as perf's do, in either byte order."""
    return head.startswith(("PERFILE2", "2ELIFREP"))


def read(_: str, path: str) -> CountStream:
    """Return the stream, with the engine's description of the counts."""
    return CountStream("perf", {"perf_data": {"path": str(Path(path).absolute())}}, "")


def counted(references: Mapping[str, Any], misses: Mapping[str, Any], cpus: str | None = None) -> str:
    """Return both events in words: their names, raw codes and their cache."""
    first, second = (
        f"{each['name']} (type {each['type']}, config {each['config']:#x})" for each in (references, misses)
    )
    on = f" on CPUs {cpus}" if cpus else ""
    return f"{first} and {second}{on}, {references['level']}"


def events(found: Mapping[str, Any]) -> str:
    """Return what was counted, in words, by the engine's description of a file."""
    words = counted(found["references"], found["misses"])
    if found["miss_ratio"] and not all(found[each]["name"].endswith(":u") for each in ("references", "misses")):
        words += ", in kernel and user mode (:u counts the program alone)"
    if found["trouble"]["shared"]:
        words += f"; others had the counters {found['trouble']['shared']:,} times meanwhile, and nothing was scaled"
    return words
