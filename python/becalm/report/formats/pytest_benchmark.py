"""pytest-benchmark's JSON (`--benchmark-json`): seconds of one iteration, one value a round in `stats.data`."""

from __future__ import annotations

from typing import Any

from becalm.report.document import Document
from becalm.report.formats.benchmarks import Benchmark, Repetition, date_ns, study_of


def recognises(value: Any) -> bool:
    """Whether a JSON value is of this format."""
    return isinstance(value, dict) and isinstance(value.get("benchmarks"), list) and "machine_info" in value


def read(value: dict[str, Any]) -> list[Document]:
    """The benchmarks as one study. Raises ValueError where a file holds no rounds, as `--benchmark-save` leaves it."""
    found = []
    for entry in value["benchmarks"]:
        stats = entry["stats"]
        if "data" not in stats:
            raise ValueError("it holds no rounds; write it by --benchmark-json, or add --benchmark-save-data")
        iterations = int(stats.get("iterations", 1))
        values = [Repetition(1e9 * float(each), float(each) * iterations) for each in stats["data"]]
        found.append(Benchmark(str(entry.get("fullname") or entry["name"]), values))
    return study_of(found, "pytest-benchmark", date_ns(value.get("datetime")))
