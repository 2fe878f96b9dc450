"""What files of programs that time themselves have in common: benchmarks by name, each with a value a repetition.

A benchmark becomes a program whose metric is the time of one iteration, since nanoseconds as whole numbers would round
it away. `study_of` makes a Document of them; the readers beside it call it. Public: Benchmark, Repetition,
study_of, programs_of.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from becalm.nouns.metric import Better, Metric
from becalm.nouns.options.measuring import ImportOptions
from becalm.nouns.run import Outcome, Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document
from becalm.report.formats.hyperfine import imported

NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
"""Units of time in nanoseconds."""

ITERATION = "time"
"""What the metric is called that is the time of one iteration."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """One value of a benchmark, and how long it took in seconds, 0 where that is not told; none where it failed."""

    value: float
    seconds: float = 0.0
    outcome: Outcome = Outcome.OK


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark's values in the order of the file. In `unit`, times always in ns."""

    name: str
    repetitions: Sequence[Repetition]
    unit: str = "ns"
    metric: str = ITERATION
    better: Better = Better.LOWER


def in_ns(value: float, unit: str) -> float:
    """A time in nanoseconds. Raises ValueError for another unit."""
    if unit not in NS:
        raise ValueError(f"times in {unit!r}; known: {', '.join(NS)}")
    return float(value) * NS[unit]


def study_of(benchmarks: Sequence[Benchmark], source: str, started_ns: int = 0) -> list[Document]:
    """Benchmarks as one study. Raises ValueError for a file without any, and for a value that cannot be."""
    if not any(each.repetitions for each in benchmarks):
        raise ValueError("it holds no benchmark with values")
    workloads, runs = programs_of(benchmarks, started_ns)
    options = ImportOptions(source=source, values="per iteration").to_json()
    study = Study("import", workloads, options=options, host="unknown", title=f"imported from {source}")
    return [Document(study, runs, environment="unknown")]


def programs_of(benchmarks: Sequence[Benchmark], started_ns: int = 0) -> tuple[tuple[Workload, ...], list[Run]]:
    """Benchmarks as programs, and their values as runs. Raises ValueError for a value that cannot be."""
    workloads, runs = [], list[Run]()
    for index, each in enumerate(benchmarks):
        metric = Metric(f"json:{each.metric}", each.metric, each.unit, each.better)
        workloads.append(Workload(argv=(each.name,), name=each.name, metrics=(metric,)))
        for number, found in enumerate(each.repetitions):
            good = found.outcome is Outcome.OK
            if good and not found.value > 0:
                raise ValueError(f"{found.value!r} of {each.name!r} is not above zero")
            run = imported(len(runs), index, number, float(found.seconds), started_ns=started_ns)
            runs.append(run._replace(outcome=str(found.outcome), metrics=(float(found.value),) if good else None))
    return tuple(workloads), runs


def date_ns(text: Any) -> int:
    """A date of ISO 8601 in ns since the epoch; 0 for what is none."""
    try:
        return int(datetime.datetime.fromisoformat(text).timestamp() * 1e9)
    except (TypeError, ValueError, OverflowError):
        return 0
