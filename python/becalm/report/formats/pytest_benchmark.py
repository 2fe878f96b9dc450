"""pytest-benchmark's JSON (`--benchmark-json`): seconds of one iteration, one value a round in `stats.data`."""

from __future__ import annotations

from typing import Any

from becalm.report.document import Document
from becalm.report.formats.benchmarks import Benchmark, Repetition, date_ns, study_of
from becalm.report.formats.layout import Part


def recognises(value: Any) -> bool:
    """Whether a JSON value is of this format."""
    return isinstance(value, dict) and isinstance(value.get("benchmarks"), list) and "machine_info" in value


def read(value: dict[str, Any]) -> list[Document]:
    """The benchmarks as one study. Raises ValueError where a file holds no rounds, as `--benchmark-save` leaves it."""
    found = []
    for entry in Part(value)["benchmarks"]:
        stats = entry["stats"]
        if "data" not in stats.members():
            raise ValueError("it holds no rounds; write it by --benchmark-json, or add --benchmark-save-data")
        known = stats.get("iterations")
        iterations = 1 if known is None else known.whole()
        times = [each.number() for each in stats["data"]]
        values = [Repetition(1e9 * seconds, seconds * iterations) for seconds in times]
        found.append(Benchmark((entry.get("fullname") or entry["name"]).text(), values))
    return study_of(found, "pytest-benchmark", date_ns(value.get("datetime")))
