"""pytest-benchmark's JSON (`--benchmark-json`): seconds per iteration, one value for each round in `stats.data`."""

from __future__ import annotations

from typing import Any

from becalm.report.document import Document
from becalm.report.formats.benchmarks import ParsedBenchmark, Repetition, study_of
from becalm.report.formats.layout import JsonPart, scalars
from becalm.report.formats.left_out import LeftOutEntries
from becalm.report.formats.origin import Dates, FileOrigin, facts_of
from becalm.report.revision import Revision, revision


def recognises(value: Any) -> bool:
    """Return whether a JSON value is of this format."""
    return isinstance(value, dict) and isinstance(value.get("benchmarks"), list) and "machine_info" in value


def read(value: dict[str, Any]) -> list[Document]:
    """Return the benchmarks as one study. Raises ValueError for a file without rounds, as `--benchmark-save` writes
    it."""
    left_out = LeftOutEntries()
    benchmarks = []
    for entry in JsonPart(value)["benchmarks"]:
        name = entry.place
        with left_out.entry(name):
            name = (entry.get("fullname") or entry["name"]).text()
            with left_out.entry(name):
                benchmarks.append(_benchmark(name, entry, left_out))
    # pytest-benchmark writes UTC, before 4.0 without a zone; the date is of the file, not of each round.
    dates = Dates(utc=True)
    machine = value["machine_info"] if isinstance(value["machine_info"], dict) else {}
    cpu = machine.get("cpu")
    model = cpu.get("brand_raw", cpu.get("brand")) if isinstance(cpu, dict) else None
    created_ns = dates.ns(value.get("datetime")) or None
    origin = FileOrigin(facts_of(machine.get("node"), model), created_ns, revision=_revision(value.get("commit_info")))
    return study_of(benchmarks, "pytest-benchmark", left_out, origin)


def _revision(about: Any) -> Revision:
    """Return the commit of a file; pytest-benchmark writes "unknown" where there is no repository."""
    if not isinstance(about, dict) or about.get("id") in ("unknown", "unversioned"):
        return Revision()
    written = about.get("time") or about.get("author_time")
    branch = about.get("branch")
    known = branch if branch not in ("(unknown)", "(detached head)") else None
    return revision(about.get("id"), Dates().ns(written), known, about.get("dirty"))


def _benchmark(name: str, entry: JsonPart, left_out: LeftOutEntries) -> ParsedBenchmark:
    """Return one benchmark with its rounds. Raises ValueError where there are none."""
    stats = entry["stats"]
    if "data" not in stats.members():
        raise ValueError("it holds no rounds; write it by --benchmark-json, or add --benchmark-save-data")
    repetitions = []
    for seconds in stats["data"]:
        with left_out.entry(name):
            repetitions.append(Repetition(1e9 * seconds.number()))
    rounds = stats.members().get("rounds")
    if type(rounds) is int and rounds > (written := len(stats["data"].list())):
        left_out.add(name, "the file counts more rounds than it holds", rounds - written)
    return ParsedBenchmark(name, repetitions, parameters=scalars(entry.members().get("params")))
