"""pyperf's JSON, version 1.0: values in seconds per loop iteration, metadata inherited from suite to run."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from becalm._version import VERSION
from becalm.nouns.options.measuring import ImportOptions
from becalm.nouns.run import Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document, by_program
from becalm.report.formats.benchmarks import ITERATION, Benchmark, Repetition, date_ns, study_of
from becalm.report.formats.hyperfine import imported
from becalm.report.formats.layout import Part, Unlike, shown


def write(document: Document) -> str:
    """A suite with one benchmark a program, which `pyperf` loads and compares."""
    benchmarks: list[dict[str, Any]] = []
    facts = document.facts
    common: dict[str, Any] = {"unit": "second", "loops": 1, "becalm_version": VERSION}
    host = facts.get("host") if isinstance(facts.get("host"), Mapping) else {}
    cpu = facts.get("cpu") if isinstance(facts.get("cpu"), Mapping) else {}
    for key, value in (("hostname", host.get("hostname")), ("cpu_model_name", cpu.get("model"))):  # type: ignore[union-attr]
        if isinstance(value, str) and value:
            common[key] = value
    for name, runs in by_program(document):
        values = [run.wall_ns / 1e9 for run in runs if run.wall_ns > 0]
        if not values:
            continue
        started = datetime.datetime.fromtimestamp(runs[0].started_ns / 1e9, datetime.UTC)
        took = (runs[-1].started_ns + runs[-1].wall_ns - runs[0].started_ns) / 1e9
        run: dict[str, Any] = {
            "metadata": {"date": started.strftime("%Y-%m-%d %H:%M:%S.%f"), "duration": max(took, 1e-9)},
            "values": values,
        }
        benchmarks.append({"metadata": {**common, "name": name, "command": name}, "runs": [run]})
    return json.dumps({"benchmarks": benchmarks, "metadata": {}, "version": "1.0"}) + "\n"


def recognises(value: Any) -> bool:
    """Whether a JSON value is of this format."""
    known = isinstance(value, dict) and isinstance(value.get("benchmarks"), list) and "version" in value
    return known and "machine_info" not in value


def read(value: dict[str, Any]) -> list[Document]:
    """The suite as one study. Calibration runs have no values and are left out; warm-ups keep round -1.

    Values of less than ROUNDED_BELOW, which whole nanoseconds would round away, and bytes become a metric.
    """
    if value["version"] != VERSION_READ:
        raise ValueError(f"it has version {value['version']!r:.20} of the format, and {VERSION_READ!r} is known")
    file = Part(value)
    common = _metadata(file)
    found = [_benchmark(index, each, common) for index, each in enumerate(file["benchmarks"])]
    units = {each.unit for each in found}
    if units - set(_METRICS):
        raise ValueError(f"values in {', '.join(sorted(units - set(_METRICS)))}; known: {', '.join(_METRICS)}")
    if units - {"second"} or any(0 < each < ROUNDED_BELOW for known in found for _, each in known.values):
        return _fine(found)
    runs: list[Run] = []
    for place, each in enumerate(found):
        for number, seconds in each.values:
            runs.append(imported(len(runs), place, number, seconds, started_ns=each.started_ns))
    workloads = tuple(Workload(argv=(each.name,), name=each.name) for each in found)
    options = ImportOptions(source="pyperf", values="per loop iteration").to_json()
    study = Study("import", workloads, options=options, host="unknown", title="imported from pyperf")
    return [Document(study, runs, environment="unknown")]


VERSION_READ = "1.0"
"""Of the format: pyperf itself reads no other, too."""

ROUNDED_BELOW = 10e-6
"""Seconds: half a nanosecond is less than 0.01 % of longer ones."""

_METRICS = {"second": ("ns", ITERATION, 1e9), "byte": ("B", "memory", 1.0), "integer": ("", "count", 1.0)}


@dataclass(frozen=True, slots=True)
class _Benchmark:
    """`values`: the number of each, -1 of a warm-up, and the value in `unit`."""

    name: str
    unit: str
    values: tuple[tuple[int, float], ...]
    started_ns: int


def _metadata(of: Part) -> dict[str, Any]:
    """What is known of a suite, a benchmark or a run."""
    found = of.get("metadata")
    return {} if found is None else found.members()


def _benchmark(index: int, benchmark: Part, common: Mapping[str, Any]) -> _Benchmark:
    inherited = {**common, **_metadata(benchmark)}
    name, units, values, started_ns, number = "", set(), [], 0, 0
    for run in benchmark["runs"]:
        known = {**inherited, **_metadata(run)}
        name = name or str(known.get("name") or known.get("command") or "")
        units.add(str(known.get("unit", "second")))
        if "values" not in run.members():
            continue
        started_ns = started_ns or date_ns(known.get("date"))
        for pair in run.get("warmups") or ():
            # Loops and seconds.
            if len(pair.list()) != 2:
                raise Unlike(f"{pair.place} is {shown(pair.value)}, where two numbers are expected")
            values.append((-1, list(pair)[1].number()))
        for each in run["values"]:
            values.append((number, each.number()))
            number += 1
    if len(units) > 1:
        raise ValueError(f"{name!r} has values in {' and '.join(sorted(units))}")
    return _Benchmark(name or f"benchmark {index + 1}", "".join(units) or "second", tuple(values), started_ns)


def _fine(found: Sequence[_Benchmark]) -> list[Document]:
    benchmarks = []
    for each in found:
        unit, metric, scale = _METRICS[each.unit]
        values = [Repetition(scale * value) for number, value in each.values if number >= 0]
        benchmarks.append(Benchmark(each.name, values, unit, metric))
    return study_of(benchmarks, "pyperf", found[0].started_ns if found else 0)
