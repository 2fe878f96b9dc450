"""Google Benchmark's JSON (`--benchmark_out_format=json`): the time of one iteration, one entry for each repetition.

The user guide of google/benchmark describes it. Its own means, medians and deviations ("aggregate") are left out, since
becalm computes its own from the repetitions. A benchmark that reported an error or was skipped has no values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from becalm.report.document import Document
from becalm.report.formats.benchmarks import ParsedBenchmark, Repetition, in_ns, study_of
from becalm.report.formats.layout import JsonPart, named
from becalm.report.formats.left_out import LeftOutEntries
from becalm.report.formats.origin import Dates, FileOrigin, facts_of

SUMMARY = "a summary of repetitions; becalm makes its own"

_SUMMARIES = ("_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS")
"""Ends of the names of summaries in files of library versions before 1.5, which have no `run_type`."""


def recognises(value: Any) -> bool:
    """Return whether a JSON value is of this format."""
    if not (isinstance(value, dict) and isinstance(value.get("benchmarks"), list)):
        return False
    return isinstance(value.get("context"), dict) and "machine_info" not in value


def read(value: dict[str, Any]) -> list[Document]:
    """Return the benchmarks as one study. Raises ValueError where the file has only summaries."""
    repetitions: dict[str, list[Repetition]] = {}
    left_out = LeftOutEntries()
    entries = list(JsonPart(value)["benchmarks"])
    names = {named(entry, "name") for entry in entries}
    summaries = 0
    for entry in entries:
        with left_out.entry(named(entry, "name")):
            known = entry.members()
            name = (entry.get("run_name") or entry["name"]).text()
            if _summary(known, names):
                summaries += 1
                left_out.add(f"{named(entry, 'name')} ({known.get('aggregate_name') or 'aggregate'})", SUMMARY)
            elif reason := _failure(known):
                left_out.add(name, reason)
            else:
                ns = in_ns(entry["real_time"].number(), str(known.get("time_unit", "ns")))
                repetitions.setdefault(name, []).append(Repetition(ns))
    if not repetitions and summaries:
        raise ValueError("it holds summaries only; leave --benchmark_report_aggregates_only out")
    benchmarks = [ParsedBenchmark(name, values) for name, values in repetitions.items()]
    context, dates = value["context"], Dates()
    # The date is that of the whole file; the time of each repetition is unknown.
    created_ns = dates.ns(context.get("date")) or None
    origin = FileOrigin(facts_of(context.get("host_name")), created_ns, dates.findings())
    return study_of(benchmarks, "Google Benchmark", left_out, origin)


def _summary(known: Mapping[str, Any], names: set[str]) -> bool:
    """Return whether an entry is one of the library's own summaries, by its kind or, without one, by its name."""
    if "run_type" in known:
        return bool(known["run_type"] != "iteration")
    name = str(known.get("name", ""))
    ends = [end for end in _SUMMARIES if name.endswith(end)]
    return bool(ends) and ("real_time" not in known or name.removesuffix(ends[0]) in names)


def _failure(known: Mapping[str, Any]) -> str:
    """Return the reason why an entry has no value; empty where it should have one."""
    for state, word in (("error_occurred", "it failed"), ("skipped", "it was skipped")):
        if known.get(state):
            message = known.get("error_message") or known.get("skip_message")
            return f"{word}: {message:.200}" if isinstance(message, str) and message else word
    return ""
