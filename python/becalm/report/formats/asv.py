"""asv's results: a directory `results/MACHINE` with a file for each commit and environment, versions 1 and 2.

Each file becomes a session of its commit, as `becalm record` makes them, so that `becalm history` continues what asv
has measured. `benchmarks.json` above has the units and the current version of each benchmark; results of an older
version belong to other code and are left out, as in asv. Each combination of a benchmark's parameters is a benchmark.
asv keeps all repetitions only with --record-samples; without them a session has one value for each benchmark. Numbers
of zero and below have no ratio and are left out; a failed benchmark is a failed run. Files that cannot be read, rows
that `benchmarks.json` does not list, and files of another machine are left out and reported.

Public: directory, read_directory.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.files.text import read_text
from becalm.nouns.conform import conform
from becalm.nouns.options.record import RecordOptions
from becalm.nouns.run import Outcome
from becalm.nouns.study import Study
from becalm.report.document import Document
from becalm.report.formats.benchmarks import ParsedBenchmark, Repetition, programs_of
from becalm.report.formats.layout import JsonPart, refused
from becalm.report.formats.left_out import LeftOutEntries

WHOSE = "asv's"

VERSIONS = (1, 2)
"""The known versions of result files."""

MOST = 100_000
"""The largest number of combinations of parameters of a benchmark: a damaged file must not use up the memory."""

_UNITS = {"time": "seconds", "mem": "bytes", "peakmem": "bytes", "timeraw": "seconds"}
"""Units by the first word of a benchmark's method, where benchmarks.json has none."""

_TO_NS = {"seconds": 1e9, "s": 1e9, "milliseconds": 1e6, "microseconds": 1e3, "nanoseconds": 1.0}


class _Known(msgspec.Struct, frozen=True):
    """The entry of a benchmark in benchmarks.json."""

    unit: str
    version: str | None


def directory(path: Path) -> bool:
    """Return whether this is a directory of asv's results, of all machines or of one."""
    try:
        return path.is_dir() and any(True for _ in _machines(path))
    except OSError:
        return False


def _machines(path: Path) -> Iterator[Path]:
    for place in (path, *(sorted(path.iterdir()) if path.is_dir() else ())):
        if (place / "machine.json").is_file():
            yield place


def read_directory(path: Path) -> list[Document]:
    """Return a session for each file of results; files that cannot be read are reported with the first session.

    Raises UsageError, naming all files, if none of them can be read, or `benchmarks.json`, which describes the others.
    """
    machines = list(_machines(path))
    results = path.parent if machines == [path] else path
    left_out = LeftOutEntries()
    known = _benchmarks(results / "benchmarks.json", left_out)
    project = _project(results)
    sessions = []
    for directory in machines:
        machine = _machine(directory, left_out)
        for file in sorted(directory.glob("*.json")):
            if file.name not in ("machine.json", "benchmarks.json"):
                with left_out.entry(f"{directory.name}/{file.name}"):
                    sessions.append(_session(file, _object(file), known or {}, machine, project))
    if known is None:
        raise UsageError(
            f"{results / 'benchmarks.json'} tells units and present versions of all benchmarks, and cannot be read. "
            f"Nothing was imported. Have asv write it again (asv run). Unreadable: {left_out.reasons()}."
        )
    if not sessions and left_out:
        raise UsageError(f"{path} {refused(left_out.refusal('it holds no file of results that can be read'), WHOSE)}.")
    if not sessions:
        raise UsageError(f"{path} has machines of asv, but no results. `asv run` makes some.")
    # asv names files by commit; their dates determine the order.
    sessions.sort(key=lambda session: session.study.options["commit_ns"] or 0)
    first = sessions[0]
    return [replace(first, noticed=(*left_out.findings(), *first.noticed)), *sessions[1:]]


def _machine(directory: Path, left_out: LeftOutEntries) -> Mapping[str, Any]:
    """Return the content of machine.json, or only the name of its directory where it cannot be read."""
    with left_out.entry(f"{directory.name}/machine.json"):
        return _object(directory / "machine.json")
    return {"machine": directory.name}


def recognises(value: Any) -> bool:
    """Return whether a JSON value is a file of results."""
    return isinstance(value, dict) and "commit_hash" in value and isinstance(value.get("results"), dict)


def read(value: Any) -> list[Document]:
    """Raise ValueError: a single file contains neither its machine nor units."""
    raise ValueError("it is one commit of asv's results; import their directory, which holds machines and units, too")


def _object(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file. Raises ValueError."""
    try:
        value = json.loads(read_text(file, "it"))
    except UsageError as error:
        raise ValueError(str(error).removesuffix(".")) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not whole JSON ({error}): it may be half written") from None
    if not isinstance(value, dict):
        raise ValueError("it is JSON, but no object as asv writes them")
    return value


def _benchmarks(file: Path, left_out: LeftOutEntries) -> dict[str, _Known] | None:
    """Return units and versions by name; empty without such a file, None where it cannot be read."""
    if not file.is_file():
        return {}
    with left_out.entry(file.name):
        known = {}
        for name, value in _object(file).items():
            if isinstance(value, dict):
                version = value.get("version")
                known[name] = _Known(str(value.get("unit") or ""), version if isinstance(version, str) else None)
        return known
    return None


def _project(results: Path) -> str:
    """Return the name of the history: as in asv.conf.json, or that of the directory above the results."""
    above = results.resolve().parent
    for place in (above, above.parent):
        try:
            text = read_text(place / "asv.conf.json")
        except UsageError:
            continue
        # The file may have comments, which JSON does not allow.
        if match := re.search(r'^\s*"project"\s*:\s*"([^"\\]{1,200})"', text, re.MULTILINE):
            return match[1]
    return above.name or "asv"


def _session(
    file: Path, value: Mapping[str, Any], known: Mapping[str, _Known], machine: Mapping[str, Any], project: str
) -> Document:
    """Return a file as a session of its commit. Raises ValueError for an invalid file."""
    version = value.get("version", 1)
    if version not in VERSIONS:
        raise ValueError(f"it has version {version!r:.20} of the format, and {VERSIONS[0]} and {VERSIONS[1]} are known")
    if "commit_hash" not in value:
        raise ValueError("it is not a file of results: it has no commit_hash")
    commit = value["commit_hash"]
    if not isinstance(commit, str) or not re.fullmatch(r"[0-9a-f]{7,64}", commit):
        raise ValueError(f"{commit!r:.80} is not a commit")
    params = value.get("params")
    about = {**machine, **(params if isinstance(params, dict) else {})}
    owner, own = about.get("machine"), machine.get("machine")
    if own and owner != own:
        raise ValueError(f"it is of machine {owner!r:.80}, and its directory is of {own!r:.80}")
    left_out = LeftOutEntries()
    benchmarks: list[ParsedBenchmark] = []
    for name, row in JsonPart(value)["results"].members().items():
        with left_out.entry(str(name)):
            benchmarks += _of_row(_Row.of(name, row, value), known, left_out)
    workloads, runs = programs_of(benchmarks, left_out)
    if left_out and not runs:
        raise left_out.refusal("it holds no benchmark with values")
    date = _milliseconds(value.get("date"))
    options = RecordOptions(
        project=project,
        commit=commit,
        commit_ns=None if date is None else date * 10**6,
        machine=", ".join(filter(None, (str(owner or "unknown")[:200], _environment(file, value)))),
        source="asv",
    )
    study = Study("record", workloads, options=options.to_json(), host="unknown", title="imported from asv")
    begun = [started for started in _started(value) if started is not None]
    created_ms = min(begun) if begun else date
    created_ns = None if created_ms is None else created_ms * 10**6
    document = Document(
        study, runs, facts=_facts(about), created_ns=created_ns, environment="unknown", noticed=left_out.findings()
    )
    conform(Document, document, "the session")
    return document


def _environment(file: Path, value: Mapping[str, Any]) -> str:
    """Return the environment of a file: its field, or the end of the file's name, which is all that format 1 has."""
    named = value.get("env_name") or file.stem.partition("-")[2] or value.get("python") or ""
    return str(named)[:200]


def _started(value: Mapping[str, Any]) -> Iterator[int | None]:
    """Yield the times when the benchmarks of a file began, in ms since the epoch; None where unknown."""
    columns = value.get("result_columns")
    place = columns.index("started_at") if isinstance(columns, list) and "started_at" in columns else None
    for row in value["results"].values():
        if place is not None and isinstance(row, list) and len(row) > place:
            yield _milliseconds(row[place])
    own = value.get("started_at")
    yield from map(_milliseconds, own.values() if isinstance(own, dict) else ())


class _Row(msgspec.Struct, frozen=True):
    """The results of one benchmark, one for each combination of its parameters; None for a failure."""

    name: str
    results: Sequence[Any]
    params: Sequence[Sequence[Any]]
    samples: Sequence[Any]
    version: str | None

    @classmethod
    def of(cls, name: str, entry: Any, file: Mapping[str, Any]) -> _Row:
        """Return a row of version 2, whose fields `result_columns` names, or an object or number of version 1."""
        if isinstance(entry, list) and "result_columns" in file:
            row = dict(zip(file["result_columns"], entry, strict=False))
        else:
            row = dict(entry) if isinstance(entry, dict) else {"result": entry}
            row["version"] = (file.get("benchmark_version") or {}).get(name)
        params = [values.list() for values in JsonPart(row, f"results.{name}").get("params") or ()]
        count = math.prod(map(len, params))
        if count > MOST:
            raise ValueError(f"{name!r:.80} has {count} combinations of parameters")
        result = row.get("result")
        results = result if isinstance(result, list) else [result] * count
        samples = row.get("samples") or []
        if not params and samples and not isinstance(samples[0], list):
            samples = [samples]
        version = row.get("version")
        return cls(str(name), results, params, samples, version if isinstance(version, str) else None)


def _of_row(row: _Row, all_known: Mapping[str, _Known], left_out: LeftOutEntries) -> list[ParsedBenchmark]:
    """Return the benchmarks of a row; none unless it is of the current version of a listed benchmark."""
    known = all_known.get(row.name)
    if all_known and known is None:
        left_out.add(row.name, "benchmarks.json does not list it")
        return []
    if known and row.version and known.version not in (None, row.version):
        left_out.add(row.name, "its results are of another version of the benchmark than benchmarks.json has")
        return []
    unit = _unit(row.name, known.unit if known else "")
    scale = _TO_NS.get(unit)
    value_unit, metric = ("ns", "time") if scale else (unit, "value")
    combinations = list(itertools.product(*row.params))
    benchmarks = []
    for place, (values, result) in enumerate(zip(combinations, row.results, strict=False)):
        name = f"{row.name}({', '.join(map(str, values))})" if values else row.name
        with left_out.entry(name):
            if result is None:
                failed = [Repetition(0.0, outcome=Outcome.FAILED)]
                benchmarks.append(ParsedBenchmark(name, failed, value_unit, metric))
                continue
            own = row.samples[place] if place < len(row.samples) else None
            numbers = own if isinstance(own, list) and own else [result]
            if skipped := sum(_skipped(number) for number in numbers):
                left_out.add(name, "asv skipped it (NaN)", skipped)
            repetitions = [Repetition(_number(number) * (scale or 1.0)) for number in numbers if not _skipped(number)]
            benchmarks.append(ParsedBenchmark(name, repetitions, value_unit, metric))
    if len(row.results) != len(combinations):
        left_out.add(row.name, f"it has {len(row.results)} results for {len(combinations)} combinations of parameters")
    return benchmarks


def _unit(name: str, stated: str) -> str:
    """Return the unit of a benchmark's values. `stated`: the unit in benchmarks.json.

    asv takes the kind of a benchmark from its name (asv/benchmarks.py, `name_regex`). Old versions stated seconds for
    memory, too, where the name is right.
    """
    natural = _UNITS.get(_kind(name), "")
    return natural if natural == "bytes" and stated in _TO_NS else stated or natural


def _kind(name: str) -> str:
    return name.rpartition(".")[2].partition("_")[0].lower()


def _skipped(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _number(value: Any) -> float:
    """Return a result. Raises ValueError for a value that is not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r:.80} is not a result")
    return float(value)


def _milliseconds(value: Any) -> int | None:
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return int(value) if known and 0 < value < 1e14 else None


def _facts(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of machine.json as the facts of a host."""

    def whole(name: str) -> int | None:
        text = str(about.get(name) or "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 15 else None

    cpu = {"model": str(about["cpu"])[:200] if about.get("cpu") else None, "count": whole("num_cpu")}
    memory = whole("ram")
    return {
        "host": {"hostname": str(about.get("machine") or "unknown")[:200]},
        "cpu": {name: value for name, value in cpu.items() if value},
        "kernel": {"release": str(about.get("os") or "")[:200]},
        # In KiB, like /proc/meminfo.
        "memory": {"total_bytes": memory * 1024} if memory else {},
    }
