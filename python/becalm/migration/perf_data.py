"""Files of `perf record`, which the engine reads record by record, so that they may be larger than memory.

See crates/becalm-core/src/source/switches/perf_data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from becalm.migration.stream import CountStream

COMMAND = "perf record -a -c 1 -e '{context-switches,cache-references:u,cache-misses:u}:S' --switch-events"


def recognises(head: str) -> bool:
    """Return whether a file begins like one of perf, in either byte order."""
    return head.startswith(("PERFILE2", "2ELIFREP"))


def read(_: str, path: str) -> CountStream:
    """Return the stream, with the engine's description of the counts."""
    return CountStream("perf", {"perf_data": {"path": str(Path(path).absolute())}}, "")


def counted(references: Mapping[str, Any], misses: Mapping[str, Any], cpus: str | None = None) -> str:
    """Return the names, raw codes and cache of both events, in words."""
    first, second = (
        f"{event['name']} (type {event['type']}, config {event['config']:#x})" for event in (references, misses)
    )
    suffix = f" on CPUs {cpus}" if cpus else ""
    return f"{first} and {second}{suffix}, {references['level']}"


def events(description: Mapping[str, Any]) -> str:
    """Return the counted events in words, from the engine's description of a file."""
    words = counted(description["references"], description["misses"])
    if description["miss_ratio"] and not all(
        description[name]["name"].endswith(":u") for name in ("references", "misses")
    ):
        words += ", in kernel and user mode (:u counts only the program)"
    if description["trouble"]["shared"]:
        words += (
            f"; other users of the counters had them {description['trouble']['shared']:,} times meanwhile, and "
            "counts were not scaled"
        )
    return words
