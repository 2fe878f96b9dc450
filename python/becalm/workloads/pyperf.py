"""The source `pyperf`: the benchmarks of a pyperf script, each a process of its own that times itself.

pyperf runs every benchmark in worker processes (its documentation, "Runner" and "runner options"): `--worker
--worker-task=N --loops=L` runs only the N-th benchmark of the script, L times, and `--pipe` reports its result. The
metric is the time of one loop, s: it does not include the interpreter's start, and does not depend on the number of
loops, so that builds with different calibrations can be compared.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from becalm import system_clock
from becalm.errors import UsageError, WorkloadError
from becalm.nouns.metric import metric
from becalm.nouns.workload import Workload
from becalm.workloads.program_options import ProgramOptions
from becalm.workloads.script import ScriptEnd, account, answers, call, chosen, interpreter, parts

WORK_S = 0.2
"""The least time of the loops in one run, s: twice pyperf's default for a value (--min-time 0.1)."""

START = 0.1
"""The largest share of a run for starting the interpreter and pyperf, if the time of the process counts
(`ProgramOptions.whole`). The spread of the start then counts a tenth."""

MOST_WORK_S = 2.0
"""The longest time of the loops for a small share of START, s, for scripts that start slowly."""

SCRIPT = 'exec "$@" --pipe=3 3>&1'
"""A script that runs its arguments with pyperf's result on standard output. pyperf closes the pipe, so it is a copy."""

TIME = '"values": *\\[([0-9.eE+-]+)\\],unit=s,name=time of a loop'
"""The metric in a worker's output, which may follow output of the script."""

_QUIET = ("--worker", "--quiet", "--values=1", "--warmups=0")


class PyperfBenchmark(msgspec.Struct, frozen=True):
    """A benchmark of a script: its name and its number, the worker task of pyperf."""

    name: str
    task: int


class Script(msgspec.Struct, frozen=True):
    """A pyperf script, the interpreter that runs it, and the options of its programs."""

    path: Path
    python: str
    options: ProgramOptions

    def benchmarks(self) -> list[PyperfBenchmark]:
        """Return the benchmarks in the script's order, by running each once with the fewest loops."""
        # Calibrating for 1 ns takes one loop each; unlike --loops=1 it does not fail on a time of zero.
        suite = self._results("--calibrate-loops", "--min-time=1e-9")
        names = [str(_metadata(suite, benchmark).get("name", "")) for benchmark in suite["benchmarks"]]
        return [PyperfBenchmark(name, task) for task, name in enumerate(names)]

    def loops(self, benchmark: PyperfBenchmark, clock: Callable[[], float] = system_clock.monotonic) -> int:
        """Return the number of loops for one run: WORK_S of work, and more by START if the whole process counts."""
        task = f"--worker-task={benchmark.task}"
        suite = self._results(task, "--calibrate-loops", f"--min-time={WORK_S}")
        loops = int(_metadata(suite, suite["benchmarks"][0])["loops"])
        if not self.options.whole:
            return loops
        before = clock()
        suite = self._results(task, f"--loops={loops}")
        took_s = clock() - before
        return loops_for(loops, worked_s(suite), took_s)

    def command(self, benchmark: PyperfBenchmark, loops: int) -> list[str]:
        """Return the argument list of one run."""
        task = f"--worker-task={benchmark.task}"
        return ["sh", "-c", SCRIPT, "pyperf", self.python, str(self.path), *_QUIET, task, f"--loops={loops}"]

    def _results(self, *options: str) -> dict[str, Any]:
        """Return the JSON suite that the script writes. Raises UsageError or WorkloadError, with its output."""
        owner = account(self.options.user)
        with answers(owner) as folder:
            out = folder / "suite.json"
            answer = call([self.python, str(self.path), *_QUIET, *options, f"--output={out}"], self.options, owner)
            try:
                suite = json.loads(out.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                suite = None
        if answer.status != 0:
            raise self._failed(answer)
        if not isinstance(suite, dict) or not suite.get("benchmarks"):
            raise UsageError(
                f"{self.path} is not a pyperf script: it ran, but produced no benchmark. "
                "It must make a pyperf.Runner and call its bench_func, bench_time_func, timeit or bench_command."
            )
        return suite

    def _failed(self, answer: ScriptEnd) -> UsageError | WorkloadError:
        if b"pyperf" not in self.path.read_bytes():
            return UsageError(
                f"{self.path} is not a pyperf script: it neither imports pyperf nor knows the options of a worker. "
                f"To measure it as a program, name it as a command: {os.path.basename(self.python)} {self.path.name}"
            )
        look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pyperf') is None)"
        if call([self.python, "-c", look], self.options, account(self.options.user)).status == 1:
            return WorkloadError(
                f"{self.python} has no pyperf, which {self.path.name} needs. Install it: "
                f"{self.python} -m pip install pyperf. Or name the interpreter that has it: --python PATH."
            )
        return WorkloadError(
            f"The pyperf script {self.path} failed with {answer.how} when it listed its benchmarks. "
            f"{answer.last_lines()}"
        )


def open_pyperf(text: str, program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return the benchmarks of `SCRIPT.py`, or one of them with `SCRIPT.py:NAME`, in the script's order.

    Raises UsageError if there is no such file or benchmark, or the script does not use pyperf; WorkloadError if it
    fails.
    """
    path, name = parts(text, program_options, "Name a pyperf script, for example: pyperf:bench.py")
    script = Script(path, interpreter(program_options.python), program_options)
    benchmarks = chosen({benchmark.name: benchmark for benchmark in script.benchmarks()}, name, path)
    return tuple(_workload(script, benchmark) for benchmark in benchmarks)


def loops_for(loops: int, work_s: float, took_s: float) -> int:
    """Return a number of loops so that starting takes at most START of a run. `loops` took `work_s` of `took_s`.

    With a start of s = took - work, the loops must take w >= s (1 - START) / START, but at most MOST_WORK_S.
    """
    start_s = max(took_s - work_s, 0.0)
    target_s = min(max(WORK_S, start_s * (1 - START) / START), MOST_WORK_S)
    return loops if work_s >= target_s or work_s <= 0 else math.ceil(loops * target_s / work_s)


def worked_s(suite: dict[str, Any]) -> float:
    """Return the time of all loops of the suite's only value, s; the value is per loop and inner loop."""
    benchmark = suite["benchmarks"][0]
    known = _metadata(suite, benchmark)
    (value,) = benchmark["runs"][0]["values"]
    return float(value) * int(known.get("loops", 1)) * int(known.get("inner_loops", 1))


def _workload(script: Script, benchmark: PyperfBenchmark) -> Workload:
    loops = script.loops(benchmark)
    argv = script.command(benchmark, loops)
    value = metric(TIME)
    return script.options.workload(argv, name=benchmark.name, parameters=(("loops", str(loops)),), metrics=(value,))


def _metadata(suite: dict[str, Any], benchmark: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a benchmark, including those that pyperf stores once for the suite."""
    known: dict[str, Any] = {**(suite.get("metadata") or {}), **(benchmark.get("metadata") or {})}
    for run in benchmark.get("runs") or []:
        known.update(run.get("metadata") or {})
    return known
