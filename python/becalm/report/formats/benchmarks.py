"""The common part of files of programs that time themselves: benchmarks by name, with a value for each repetition.

A benchmark becomes a program whose metric is the time of one iteration, which would be lost in whole nanoseconds.
`study_of` makes a Document of benchmarks; the readers of this folder call it.

Public: ParsedBenchmark, Repetition, study_of, programs_of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from becalm.nouns.conform import conform
from becalm.nouns.metric import LEAST, MOST, Better, Metric
from becalm.nouns.options.measuring import ImportOptions
from becalm.nouns.run import Outcome, Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document
from becalm.report.formats.hyperfine import imported
from becalm.report.formats.left_out import NO_NUMBER, NO_RATIO, LeftOutEntries
from becalm.report.formats.origin import FileOrigin

NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
"""Units of time in nanoseconds."""

ITERATION = "time"
"""The name of the metric that is the time of one iteration."""

Parameters = tuple[tuple[str, str], ...]


class Repetition(msgspec.Struct, frozen=True):
    """A value of a benchmark. `outcome`: anything but OK means that it failed and has no value. `warmup`: whether it
    is stored but not counted. `started_ns`: when it began; 0 where the file does not record it.
    """

    value: float
    outcome: Outcome = Outcome.OK
    warmup: bool = False
    started_ns: int = 0


class ParsedBenchmark(msgspec.Struct, frozen=True):
    """A benchmark with its values in the order of the file, in `unit`; times are in ns.

    `parameters`: pairs of name and value that tell it apart from others with the same name.
    """

    name: str
    repetitions: Sequence[Repetition]
    unit: str = "ns"
    metric: str = ITERATION
    better: Better = Better.LOWER
    parameters: Parameters = ()


def in_ns(value: float, unit: str) -> float:
    """Return a time in nanoseconds. Raises ValueError for another unit."""
    if unit not in NS:
        raise ValueError(f"a time in {unit!r:.40}; known are {', '.join(NS)}")
    return float(value) * NS[unit]


def study_of(
    benchmarks: Sequence[ParsedBenchmark], source: str, left_out: LeftOutEntries, origin: FileOrigin | None = None
) -> list[Document]:
    """Return benchmarks as one study. Raises ValueError with all reasons where none of them has a value."""
    workloads, runs = programs_of(benchmarks, left_out)
    if not runs:
        raise left_out.refusal("it holds no benchmark with values")
    options = ImportOptions(source=source, values="per iteration").to_json()
    study = Study("import", workloads, options=options, host="unknown", title=f"imported from {source}")
    origin = origin or FileOrigin()
    return [
        Document(
            study, runs, facts=origin.facts, created_ns=origin.created_ns, environment="unknown",
            noticed=(*left_out.findings(), *origin.noticed), revision=origin.revision,
        )
    ]  # fmt: skip


def programs_of(
    benchmarks: Sequence[ParsedBenchmark], left_out: LeftOutEntries
) -> tuple[tuple[Workload, ...], list[Run]]:
    """Return benchmarks as programs, and their values as runs; unusable values are left out."""
    workloads, runs = list[Workload](), list[Run]()
    for benchmark in benchmarks:
        name = benchmark.name
        good = [repetition for repetition in benchmark.repetitions if _usable(name, repetition, left_out)]
        if all(repetition.warmup for repetition in good):
            continue
        metric = Metric(f"json:{benchmark.metric}", benchmark.metric, benchmark.unit, benchmark.better)
        program = Workload((name,), name, metrics=(metric,), parameters=benchmark.parameters)
        try:
            conform(Workload, program, "the program")
        except ValueError as error:
            left_out.add(name, str(error))
            continue
        number = 0
        for repetition in good:
            place = -1 if repetition.warmup else number
            run = imported(len(runs), len(workloads), place, None, started_ns=repetition.started_ns)
            printed = (float(repetition.value),) if repetition.outcome is Outcome.OK else None
            runs.append(run._replace(outcome=str(repetition.outcome), metrics=printed))
            number += not repetition.warmup
        workloads.append(program)
    return tuple(workloads), runs


def _usable(name: str, repetition: Repetition, left_out: LeftOutEntries) -> bool:
    """Return whether a repetition is a failed run, or has a value that a metric can have."""
    if repetition.outcome is not Outcome.OK:
        return True
    if (reason := unusable(repetition.value)) is not None:
        left_out.add(name, reason)
    return reason is None


def unusable(value: float) -> str | None:
    """Return the reason why a number cannot be compared; None if it can."""
    if not math.isfinite(value):
        return NO_NUMBER
    if value <= 0:
        return NO_RATIO
    return None if LEAST <= value <= MOST else f"not between {LEAST:g} and {MOST:g}"
