"""pyperf's JSON, version 1.0: values in seconds per loop iteration, metadata inherited from suite to run."""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from becalm._version import VERSION
from becalm.nouns.options.measuring import ImportOptions
from becalm.nouns.run import Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document
from becalm.report.formats.benchmarks import (
    ITERATION,
    Parameters,
    ParsedBenchmark,
    Repetition,
    study_of,
    unusable,
)
from becalm.report.formats.exported import BYTE, INTEGER, SECOND, Exported, programs_for
from becalm.report.formats.hyperfine import imported
from becalm.report.formats.layout import JsonPart, Unlike, shown
from becalm.report.formats.left_out import LeftOutEntries
from becalm.report.formats.origin import Dates, FileOrigin, facts_of
from becalm.report.revision import Revision, revision
from becalm.wording.printable import encodable

UNITS = (SECOND, BYTE, INTEGER)
"""The units of values in an exported file."""


def write(document: Document) -> str:
    """Return a suite with one benchmark per program, which `pyperf` loads and compares. Raises UsageError for other
    units."""
    benchmarks: list[dict[str, Any]] = []
    facts = document.facts
    common: dict[str, Any] = {"loops": 1, "becalm_version": VERSION}
    host = facts.get("host") if isinstance(facts.get("host"), Mapping) else {}
    cpu = facts.get("cpu") if isinstance(facts.get("cpu"), Mapping) else {}
    for key, value in (("hostname", host.get("hostname")), ("cpu_model_name", cpu.get("model"))):  # type: ignore[union-attr]
        if isinstance(value, str) and value:
            common[key] = encodable(value)
    for program in programs_for(document, "pyperf", UNITS, unique=True):
        values = [value for value in program.values if value > 0]
        if not values:
            continue
        name = program.name
        metadata = {"name": name, "command": name, "unit": program.unit}
        run = {"metadata": _when(program), "values": values if program.unit == SECOND else list(map(int, values))}
        benchmarks.append({"metadata": {**common, **metadata}, "runs": [run]})
    return json.dumps({"benchmarks": benchmarks, "metadata": {}, "version": "1.0"}) + "\n"


def _when(program: Exported) -> dict[str, Any]:
    """Return when the runs of a program began and how long they took together, where that is known."""
    first, last = program.runs[0], program.runs[-1]
    if first.started_ns <= 0:
        return {}
    started = datetime.datetime.fromtimestamp(first.started_ns / 1e9, datetime.UTC)
    date = {"date": started.strftime("%Y-%m-%d %H:%M:%S.%f")}
    if last.wall_ns is None:
        return date
    return {**date, "duration": max((last.started_ns + last.wall_ns - first.started_ns) / 1e9, 1e-9)}


def recognises(value: Any) -> bool:
    """Return whether a JSON value is of this format."""
    known = isinstance(value, dict) and isinstance(value.get("benchmarks"), list) and "version" in value
    return known and "machine_info" not in value


def read(value: dict[str, Any]) -> list[Document]:
    """Return the suite as one study. Calibration runs have no values and are left out; warm-ups have round -1.

    Values of several loops together, values below ROUNDED_BELOW, which whole nanoseconds would lose, and bytes become
    a metric, since they are no wall times.
    """
    if value["version"] != VERSION_READ:
        raise ValueError(f"it has version {value['version']!r:.20} of the format, and {VERSION_READ!r} is known")
    file = JsonPart(value)
    common = _metadata(file)
    left_out, dates = LeftOutEntries(), Dates()
    entries = list(file["benchmarks"])
    benchmarks: list[_Benchmark] = []
    for index, entry in enumerate(entries):
        name = _name(entry, common) or entry.place
        with left_out.entry(name):
            benchmark = _benchmark(index, entry, common, left_out, dates)
            if benchmark.unit not in _METRICS:
                raise ValueError(f"its values are in {benchmark.unit!r:.40}; known are {', '.join(_METRICS)}")
            if benchmark.values:
                benchmarks.append(benchmark)
            else:
                left_out.add(name, "it has no values, only runs that calibrate")
    if entries and not benchmarks:
        raise left_out.refusal("it holds no benchmark with values")
    origin = _origin(benchmarks, dates, _revision(common, entries))
    if any(benchmark.unit != "second" or benchmark.loops or _fine(benchmark) for benchmark in benchmarks):
        return _metrics(benchmarks, left_out, origin)
    runs: list[Run] = []
    for place, benchmark in enumerate(benchmarks):
        for (number, seconds), started_ns in zip(benchmark.values, benchmark.started_ns, strict=True):
            with left_out.entry(benchmark.name):
                runs.append(imported(len(runs), place, number, seconds, started_ns=started_ns))
    workloads = tuple(
        Workload(argv=(benchmark.name,), name=benchmark.name, parameters=benchmark.tags) for benchmark in benchmarks
    )
    options = ImportOptions(source="pyperf", values="per loop iteration").to_json()
    study = Study("import", workloads, options=options, host="unknown", title="imported from pyperf")
    return [
        Document(
            study, runs, facts=origin.facts, created_ns=origin.created_ns, environment="unknown",
            noticed=(*left_out.findings(), *origin.noticed), revision=origin.revision,
        )
    ]  # fmt: skip


def _revision(common: Mapping[str, Any], entries: Sequence[JsonPart]) -> Revision:
    """Return the commit that pyperformance writes with a suite, or with its first benchmark."""
    about = dict(common)
    with contextlib.suppress(Unlike):
        about = {**(_metadata(entries[0]) if entries else {}), **common}
    return revision(about.get("commit_id"), Dates().ns(about.get("commit_date")), about.get("commit_branch"))


def _origin(benchmarks: Sequence[_Benchmark], dates: Dates, code: Revision) -> FileOrigin:
    """Return the machine, if all runs are from one, the time of the first run, and the code."""
    machines = {benchmark.machine for benchmark in benchmarks}
    starts = [started for benchmark in benchmarks for started in benchmark.started_ns if started]
    facts = facts_of(*machines.pop()) if len(machines) == 1 else {}
    return FileOrigin(facts, min(starts, default=None), dates.findings(), code)


VERSION_READ = "1.0"
"""The version of the format that can be read, as in pyperf itself."""

ROUNDED_BELOW = 10e-6
"""The time below which rounding to half a nanosecond exceeds 0.005 %, s."""

_METRICS = {"second": ("ns", ITERATION, 1e9), "byte": ("B", "memory", 1.0), "integer": ("", "count", 1.0)}


class _Benchmark(msgspec.Struct, frozen=True):
    """A benchmark of a suite. `values`: pairs of the number (-1 for a warm-up) and the value in `unit`. `loops`:
    whether a value is of several loops together."""

    name: str
    unit: str
    values: tuple[tuple[int, float], ...]
    started_ns: tuple[int, ...]
    """The time when the process of each value began; 0 where it is unknown."""
    loops: bool
    tags: Parameters
    machine: tuple[str, str]
    """The names of host and processor; empty where the runs name none or several."""


def _metadata(of: JsonPart) -> dict[str, Any]:
    """Return the metadata of a suite, a benchmark or a run."""
    metadata = of.get("metadata")
    return {} if metadata is None else metadata.members()


def _name(benchmark: JsonPart, common: Mapping[str, Any]) -> str:
    """Return the name of a benchmark where it can be read; empty where nothing names it."""
    places = [common]
    with contextlib.suppress(Unlike):
        places.insert(0, _metadata(benchmark))
        places = [*map(_metadata, benchmark["runs"]), *places]
    texts = (place.get(key) for place in places for key in ("name", "command"))
    return next((text for text in texts if isinstance(text, str) and text), "")


def _benchmark(
    index: int, benchmark: JsonPart, common: Mapping[str, Any], left_out: LeftOutEntries, dates: Dates
) -> _Benchmark:
    inherited = {**common, **_metadata(benchmark)}
    name = _name(benchmark, common) or f"benchmark {index + 1}"
    units, values, starts, machines, number, loops = set(), [], list[int](), set[tuple[str, str]](), 0, False
    for run in benchmark["runs"]:
        known = {**inherited, **_metadata(run)}
        if "values" not in run.members():
            continue
        units.add(str(known.get("unit", "second")))
        loops = loops or known.get("loops", 1) != 1 or known.get("inner_loops", 1) != 1
        started_ns = dates.ns(known.get("date"))
        machines.add((str(known.get("hostname") or ""), str(known.get("cpu_model_name") or "")))
        for pair in run.get("warmups") or ():
            with left_out.entry(name):
                values.append((-1, _warmup(pair)))
        for value in run["values"]:
            with left_out.entry(name):
                values.append((number, _positive(value)))
                number += 1
        starts += [started_ns] * (len(values) - len(starts))
    if len(units) > 1:
        raise ValueError(f"it has values in {' and '.join(sorted(units))}")
    tags = inherited.get("tags")
    texts = tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()
    parameters = (("tags", ", ".join(texts)),) if texts else ()
    counted_values = tuple(values) if number else ()
    machine = machines.pop() if len(machines) == 1 else ("", "")
    started = tuple(starts) if number else ()
    return _Benchmark(name, "".join(units) or "second", counted_values, started, loops, parameters, machine)


def _warmup(pair: JsonPart) -> float:
    """Return the value of a warm-up, which is a pair of loops and seconds. Raises Unlike."""
    if len(pair.list()) != 2:
        raise Unlike(f"{pair.place} is {shown(pair.value)}, where two numbers are expected")
    return _positive(list(pair)[1])


def _positive(value: JsonPart) -> float:
    """Return a value that can be compared. Raises ValueError for another value."""
    number = value.number()
    if (reason := unusable(number)) is not None:
        raise ValueError(reason)
    return number


def _fine(benchmark: _Benchmark) -> bool:
    return any(value < ROUNDED_BELOW for _, value in benchmark.values)


def _metrics(benchmarks: Sequence[_Benchmark], left_out: LeftOutEntries, origin: FileOrigin) -> list[Document]:
    """Return a study whose programs have the values as metrics."""
    programs = []
    for benchmark in benchmarks:
        unit, metric, scale = _METRICS[benchmark.unit]
        values = [
            Repetition(scale * value, warmup=number < 0, started_ns=started_ns)
            for (number, value), started_ns in zip(benchmark.values, benchmark.started_ns, strict=True)
        ]
        programs.append(ParsedBenchmark(benchmark.name, values, unit, metric, parameters=benchmark.tags))
    return study_of(programs, "pyperf", left_out, origin)
