"""Google Benchmark's JSON (`--benchmark_out_format=json`): time of one iteration, one entry a repetition.

The user guide of google/benchmark describes it. Means, medians and deviations of its own ("aggregate") are left out:
becalm makes its own of the repetitions. A benchmark that reported an error or was skipped has no values.
"""

from __future__ import annotations

from typing import Any

from becalm.report.document import Document
from becalm.report.formats.benchmarks import Benchmark, Repetition, date_ns, in_ns, study_of
from becalm.report.formats.layout import Part


def recognises(value: Any) -> bool:
    """Whether a JSON value is of this format."""
    if not (isinstance(value, dict) and isinstance(value.get("benchmarks"), list)):
        return False
    return isinstance(value.get("context"), dict) and "machine_info" not in value


def read(value: dict[str, Any]) -> list[Document]:
    """The benchmarks as one study. Raises ValueError where only its own summaries were written."""
    found: dict[str, list[Repetition]] = {}
    summaries = 0
    for entry in Part(value)["benchmarks"]:
        known = entry.members()
        if known.get("run_type", "iteration") != "iteration":
            summaries += 1
            continue
        if known.get("error_occurred") or known.get("skipped"):
            continue
        ns = in_ns(entry["real_time"].number(), str(known.get("time_unit", "ns")))
        seconds = ns * entry["iterations"].number() / 1e9
        name = (entry.get("run_name") or entry["name"]).text()
        found.setdefault(name, []).append(Repetition(ns, seconds))
    if not found and summaries:
        raise ValueError("it holds summaries only; leave --benchmark_report_aggregates_only out")
    benchmarks = [Benchmark(name, values) for name, values in found.items()]
    return study_of(benchmarks, "Google Benchmark", date_ns(value["context"].get("date")))
