"""The source `google-benchmark`: benchmarks of a C++ program built with Google Benchmark, each as a process of its own.

The program times itself: the metric is the `real_time` of one iteration that it prints (the library's user guide,
"Output Formats"). Each run is a fresh process with TIME_S of iterations, so that memory layout and start vary from run
to run as they do for its users. To find the names, the program is run once with as few iterations as possible.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import msgspec

from becalm.errors import UsageError, WorkloadError
from becalm.nouns.metric import metric
from becalm.nouns.workload import Workload
from becalm.workloads.program_options import ProgramOptions
from becalm.workloads.script import account, answers, call, chosen, parts

TIME_S = 0.2
"""The time of iterations in one run, s: less than the library's 0.5, since there are many runs."""

_UNITS = ("ns", "us", "ms", "s")


class GoogleBenchmark(msgspec.Struct, frozen=True):
    """A benchmark of a program: its full name with arguments, and the unit in which it prints times."""

    name: str
    unit: str


def open_google_benchmark(text: str, program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return the benchmarks of `PROGRAM`, or one of them with `PROGRAM:NAME`, in the program's order.

    Raises UsageError if there is no such program or benchmark, WorkloadError if it fails.
    """
    path, name = parts(text, program_options, "Name a program that was built with Google Benchmark.")
    path = Path(os.path.abspath(path))
    if not os.access(path, os.X_OK):
        raise UsageError(f"{path} is not an executable program. Name one that was built with Google Benchmark.")
    benchmarks = {benchmark.name: benchmark for benchmark in _benchmarks(path, program_options)}
    return tuple(_workload(path, benchmark, program_options) for benchmark in chosen(benchmarks, name, path))


def _benchmarks(path: Path, program_options: ProgramOptions) -> list[GoogleBenchmark]:
    owner = account(program_options.user)
    with answers(owner) as folder:
        out = folder / "benchmarks.json"
        # Without the unit "s", which libraries before 1.8 do not know and later ones do not need.
        few = ("--benchmark_min_time=1e-9", f"--benchmark_out={out}", "--benchmark_out_format=json")
        answer = call([str(path), *few], program_options, owner)
        try:
            suite = json.loads(out.read_text(encoding="utf-8", errors="replace"))
        except (OSError, ValueError):
            suite = None
    if answer.status != 0:
        raise WorkloadError(f"{path} failed with {answer.how} when it listed its benchmarks. {answer.last_lines()}")
    if not isinstance(suite, dict) or not isinstance(suite.get("benchmarks"), list):
        raise UsageError(
            f"{path} ran, but wrote no benchmarks: it was not built with Google Benchmark. To measure it as a "
            f"program, name it as a command: {path}"
        )
    benchmarks = [row for entry in suite["benchmarks"] if (row := _benchmark(entry)) is not None]
    if not benchmarks:
        failed = [
            str(benchmark.get("error_message") or benchmark.get("skip_message")) for benchmark in suite["benchmarks"]
        ]
        raise WorkloadError(f"No benchmark of {path} could be run. {'; '.join(failed) or 'It has none.'}")
    return benchmarks


def _benchmark(entry: dict[str, Any]) -> GoogleBenchmark | None:
    """Return the benchmark of an entry that is a measurement; None for summaries, and failed or skipped ones."""
    if entry.get("run_type", "iteration") != "iteration" or entry.get("error_occurred") or entry.get("skipped"):
        return None
    name, unit = str(entry.get("run_name") or entry.get("name") or ""), str(entry.get("time_unit", "ns"))
    return GoogleBenchmark(name, unit) if name and unit in _UNITS else None


def _workload(path: Path, benchmark: GoogleBenchmark, program_options: ProgramOptions) -> Workload:
    argv = [
        str(path),
        f"--benchmark_filter=^{literal(benchmark.name)}$",
        f"--benchmark_min_time={TIME_S}",
        "--benchmark_format=json",
        # Variables in the environment could change the output otherwise.
        "--benchmark_out=",
    ]
    time = metric(f'"real_time": *([0-9.eE+-]+),unit={benchmark.unit},take=first,name=time of an iteration')
    return program_options.workload(argv, name=benchmark.name, metrics=(time,))


def literal(name: str) -> str:
    """Return a regular expression that matches only a name; ordinary characters are not escaped, which POSIX leaves
    undefined."""
    return re.sub(r"[\\.^$|?*+()\[\]{}]", lambda match: "\\" + match[0], name)
