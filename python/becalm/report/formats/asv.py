"""asv's results: a directory `results/MACHINE` with a file for each commit and environment, versions 1 and 2.

Each file becomes a sitting of its commit, as `becalm record` makes them, so that `becalm history` goes on with what asv
has measured. `benchmarks.json` above says the units and which version of a benchmark is the present one: results of an
older version are of other code and left out, as asv does. Of a benchmark with parameters each combination is one. asv
keeps all its repetitions only with --record-samples; without them a sitting has one value for each benchmark.

Numbers of zero and below have no ratio and are left out; what failed is a failed run.

Public: directory, read_directory.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from becalm.errors import UsageError
from becalm.files.text import read_text
from becalm.nouns.options.record import RecordOptions
from becalm.nouns.run import Outcome
from becalm.nouns.study import Study
from becalm.report.document import Document
from becalm.report.formats.benchmarks import Benchmark, Repetition, programs_of
from becalm.report.formats.layout import Part, refused

WHOSE = "asv's"

VERSIONS = (1, 2)
"""Of result files."""

MOST = 100_000
"""Combinations of parameters that a benchmark may have: a damaged file must not take all memory."""

_UNITS = {"time": "seconds", "mem": "bytes", "peakmem": "bytes", "timeraw": "seconds"}
"""Units by the first word of a benchmark's method, where benchmarks.json does not tell."""

_TO_NS = {"seconds": 1e9, "s": 1e9, "milliseconds": 1e6, "microseconds": 1e3, "nanoseconds": 1.0}


@dataclass(frozen=True, slots=True)
class _Known:
    """What benchmarks.json says of one benchmark."""

    unit: str
    version: str | None


def directory(path: Path) -> bool:
    """Whether this is a directory of asv's results, of all machines or of one."""
    try:
        return path.is_dir() and any(True for _ in _machines(path))
    except OSError:
        return False


def _machines(path: Path) -> Iterator[Path]:
    for each in (path, *(sorted(path.iterdir()) if path.is_dir() else ())):
        if (each / "machine.json").is_file():
            yield each


def read_directory(path: Path) -> list[Document]:
    """A sitting for each file of results. Raises UsageError, naming the file, when one cannot be read."""
    machines = list(_machines(path))
    results = path.parent if machines == [path] else path
    known = _benchmarks(results / "benchmarks.json")
    project = _project(results)
    found = []
    for each in machines:
        machine = _object(each / "machine.json")
        for file in sorted(each.glob("*.json")):
            if file.name not in ("machine.json", "benchmarks.json"):
                found.append(_checked(file, known, machine, project))
    if not found:
        raise UsageError(f"{path} has machines of asv, but no results. `asv run` makes some.")
    several = len({environment for _, environment in found}) > 1
    return [_in(document, environment if several else "") for document, environment in found]


def recognises(value: Any) -> bool:
    """Whether a JSON value is one file of results."""
    return isinstance(value, dict) and "commit_hash" in value and isinstance(value.get("results"), dict)


def read(value: Any) -> list[Document]:
    """Raises ValueError: a file alone does not tell its machine and units."""
    raise ValueError("it is one commit of asv's results; import their directory, which holds machines and units, too")


def _in(document: Document, environment: str) -> Document:
    """Sittings of different environments are of different machines, as it were: they are not compared."""
    if not environment:
        return document
    options = dict(document.study.options)
    options["machine"] = f"{options['machine']}, {environment}"
    return replace(document, study=replace(document.study, options=options))


def _checked(file: Path, known: Mapping[str, _Known], machine: Mapping[str, Any], project: str) -> tuple[Document, str]:
    try:
        return _sitting(_object(file), known, machine, project)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise UsageError(
            f"{file} {refused(error, WHOSE)}. Nothing was imported; remove the file, or have asv measure that commit "
            "again."
        ) from None


def _object(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_text(file))
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{file} is not whole JSON ({error}): it may be half written. Nothing was imported; remove it, or have asv "
            "measure that commit again."
        ) from None
    if not isinstance(value, dict):
        raise UsageError(f"{file} is JSON, but no object as asv writes them. Nothing was imported.")
    return value


def _benchmarks(file: Path) -> dict[str, _Known]:
    """Units and versions by name; empty where there is no such file."""
    if not file.is_file():
        return {}
    known = {}
    for name, value in _object(file).items():
        if isinstance(value, dict):
            version = value.get("version")
            known[name] = _Known(str(value.get("unit") or ""), version if isinstance(version, str) else None)
    return known


def _project(results: Path) -> str:
    """What the history is called: as asv.conf.json says, else as the directory above the results."""
    above = results.resolve().parent
    for place in (above, above.parent):
        try:
            text = read_text(place / "asv.conf.json")
        except UsageError:
            continue
        # The file may have comments: JSON is not what it is.
        if found := re.search(r'^\s*"project"\s*:\s*"([^"\\]{1,200})"', text, re.MULTILINE):
            return found[1]
    return above.name or "asv"


def _sitting(
    value: Mapping[str, Any], known: Mapping[str, _Known], machine: Mapping[str, Any], project: str
) -> tuple[Document, str]:
    """A file as a sitting, and its environment."""
    version = value.get("version", 1)
    if version not in VERSIONS:
        raise ValueError(f"it has version {version!r:.20} of the format, and {VERSIONS[0]} and {VERSIONS[1]} are known")
    commit = value["commit_hash"]
    if not isinstance(commit, str) or not re.fullmatch(r"[0-9a-f]{7,64}", commit):
        raise ValueError(f"{commit!r:.80} is not a commit")
    params = value.get("params")
    about = {**machine, **(params if isinstance(params, dict) else {})}
    environment = str(value.get("env_name") or value.get("python") or "")[:200]
    rows = [_Row.of(name, given, value) for name, given in Part(value)["results"].members().items()]
    benchmarks = [made for row in rows for made in _of_row(row, known.get(row.name), bool(known))]
    workloads, runs = programs_of(benchmarks)
    begun = [row.started_ms for row in rows if row.started_ms is not None]
    date = _milliseconds(value.get("date"))
    options = RecordOptions(
        project=project,
        commit=commit,
        commit_ns=None if date is None else date * 10**6,
        machine=str(about.get("machine") or "unknown")[:200],
        source="asv",
    )
    study = Study("record", workloads, options=options.to_json(), host="unknown", title="imported from asv")
    created_ms = min(begun) if begun else date
    created_ns = None if created_ms is None else created_ms * 10**6
    return Document(study, runs, facts=_facts(about), created_ns=created_ns, environment="unknown"), environment


@dataclass(frozen=True, slots=True)
class _Row:
    """Results of one benchmark, one for each combination of its parameters; None: it failed."""

    name: str
    results: Sequence[Any]
    params: Sequence[Sequence[Any]]
    samples: Sequence[Any]
    version: str | None
    started_ms: int | None

    @classmethod
    def of(cls, name: str, given: Any, file: Mapping[str, Any]) -> _Row:
        """Of a row of version 2, which `result_columns` name, or of an object or number of version 1."""
        if isinstance(given, list) and "result_columns" in file:
            row = dict(zip(file["result_columns"], given, strict=False))
        else:
            row = dict(given) if isinstance(given, dict) else {"result": given}
            row["version"] = (file.get("benchmark_version") or {}).get(name)
            row["started_at"] = (file.get("started_at") or {}).get(name)
        params = [each.list() for each in Part(row, f"results.{name}").get("params") or ()]
        count = math.prod(map(len, params))
        if count > MOST:
            raise ValueError(f"{name!r:.80} has {count} combinations of parameters")
        result = row.get("result")
        results = result if isinstance(result, list) else [result] * count
        samples = row.get("samples") or []
        if not params and samples and not isinstance(samples[0], list):
            samples = [samples]
        version = row.get("version")
        started = _milliseconds(row.get("started_at"))
        return cls(str(name), results, params, samples, version if isinstance(version, str) else None, started)


def _of_row(row: _Row, known: _Known | None, listed: bool) -> Iterator[Benchmark]:
    """The benchmarks of a row: none where another version of it, or none at all, is the present one."""
    if (listed and known is None) or (known and row.version and known.version not in (None, row.version)):
        return
    unit = known.unit if known and known.unit else _UNITS.get(_kind(row.name), "")
    scale = _TO_NS.get(unit)
    combinations = itertools.product(*row.params)
    for place, (values, result) in enumerate(zip(combinations, row.results, strict=False)):
        name = f"{row.name}({', '.join(map(str, values))})" if values else row.name
        if result is None:
            yield Benchmark(name, [Repetition(0.0, outcome=Outcome.FAILED)], "ns" if scale else unit)
            continue
        own = row.samples[place] if place < len(row.samples) else None
        numbers = own if isinstance(own, list) and own else [result]
        found = [Repetition(number * (scale or 1.0)) for number in map(_number, numbers) if number is not None]
        if found:
            yield Benchmark(name, found, "ns" if scale else unit, metric="time" if scale else "value")


def _kind(name: str) -> str:
    return name.rpartition(".")[2].partition("_")[0].lower()


def _number(value: Any) -> float | None:
    """A number that has ratios; None for what asv skipped (NaN), and for zero and below."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r:.80} is no result")
    return float(value) if math.isfinite(value) and value > 0 else None


def _milliseconds(value: Any) -> int | None:
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return int(value) if known and 0 < value < 1e14 else None


def _facts(about: Mapping[str, Any]) -> dict[str, Any]:
    """What machine.json says, as the facts of a host."""

    def whole(name: str) -> int | None:
        text = str(about.get(name) or "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 15 else None

    cpu = {"model": str(about["cpu"])[:200] if about.get("cpu") else None, "count": whole("num_cpu")}
    memory = whole("ram")
    return {
        "host": {"hostname": str(about.get("machine") or "unknown")[:200]},
        "cpu": {name: found for name, found in cpu.items() if found},
        "kernel": {"release": str(about.get("os") or "")[:200]},
        # As /proc/meminfo has it, in KiB.
        "memory": {"total_bytes": memory * 1024} if memory else {},
    }
