"""The source `pyperf`: the benchmarks of a pyperf script, each a process of its own that times itself.

pyperf runs every benchmark in worker processes (its documentation, "Runner" and "runner options"): `--worker
--worker-task=N --loops=L` runs the N-th benchmark of the script L times and nothing else, and with `--pipe` it tells
what it has measured. That is what counts, seconds of one loop: the interpreter's start is not in it, and builds whose
loops were calibrated differently can be compared.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from becalm import system_clock
from becalm.errors import UsageError, WorkloadError
from becalm.nouns.metric import metric
from becalm.nouns.workload import Workload
from becalm.workloads.asked import ProgramOptions
from becalm.workloads.script import Said, account, answers, call, chosen, interpreter, parts

WORK_S = 0.2
"""The loops of one run take at least so long, in seconds: twice pyperf's own default for a value (--min-time 0.1)."""

START = 0.1
"""The share of a run that starting the interpreter and pyperf may take, where the time of the process counts
(`Asked.whole`). Its own spread then counts a tenth."""

MOST_WORK_S = 2.0
"""The limit of the loops' time, s, up to which they are lengthened for START, however slowly the script starts."""

SCRIPT = 'exec "$@" --pipe=3 3>&1'
"""Runs its arguments; what they measured goes where they print. pyperf closes the pipe, and a script may print on."""

TIME = '"values": *\\[([0-9.eE+-]+)\\],unit=s,name=time of a loop'
"""The value in what a worker prints; a script's own output may stand before it."""

_QUIET = ("--worker", "--quiet", "--values=1", "--warmups=0")


@dataclass(frozen=True, slots=True)
class PyperfBenchmark:
    """A benchmark of a script: its name and its number, which pyperf calls the worker task."""

    name: str
    task: int


@dataclass(frozen=True, slots=True)
class Script:
    """A pyperf script, the interpreter that runs it, and how it is asked."""

    path: Path
    python: str
    asked: ProgramOptions

    def benchmarks(self) -> list[PyperfBenchmark]:
        """Return the names in the script's own order. Every benchmark is run once for it, with the fewest loops."""
        # Calibrating for one nanosecond is one loop each; unlike --loops=1 it does not fail on a time of zero.
        suite = self._results("--calibrate-loops", "--min-time=1e-9")
        names = [str(_metadata(suite, benchmark).get("name", "")) for benchmark in suite["benchmarks"]]
        return [PyperfBenchmark(name, task) for task, name in enumerate(names)]

    def loops(self, benchmark: PyperfBenchmark, clock: Callable[[], float] = system_clock.monotonic) -> int:
        """Return the number of loops of one run: WORK_S of work; where the whole process counts more, by START."""
        task = f"--worker-task={benchmark.task}"
        suite = self._results(task, "--calibrate-loops", f"--min-time={WORK_S}")
        loops = int(_metadata(suite, suite["benchmarks"][0])["loops"])
        if not self.asked.whole:
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
        owner = account(self.asked.user)
        with answers(owner) as folder:
            out = folder / "suite.json"
            said = call([self.python, str(self.path), *_QUIET, *options, f"--output={out}"], self.asked, owner)
            try:
                suite = json.loads(out.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                suite = None
        if said.status != 0:
            raise self._failed(said)
        if not isinstance(suite, dict) or not suite.get("benchmarks"):
            raise UsageError(
                f"{self.path} is not a pyperf script: it ran, but produced no benchmark. "
                "It must make a pyperf.Runner and call its bench_func, bench_time_func, timeit or bench_command."
            )
        return suite

    def _failed(self, said: Said) -> UsageError | WorkloadError:
        if b"pyperf" not in self.path.read_bytes():
            return UsageError(
                f"{self.path} is not a pyperf script: it neither imports pyperf nor knows the options of a worker. "
                f"To measure it as a program, name it as a command: {os.path.basename(self.python)} {self.path.name}"
            )
        look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pyperf') is None)"
        if call([self.python, "-c", look], self.asked, account(self.asked.user)).status == 1:
            return WorkloadError(
                f"{self.python} has no pyperf, which {self.path.name} needs. Install it: "
                f"{self.python} -m pip install pyperf. Or name the interpreter that has it: --python PATH."
            )
        return WorkloadError(
            f"The pyperf script {self.path} failed with {said.how} when it was asked for its benchmarks. "
            f"{said.last_lines()}"
        )


def open_pyperf(text: str, asked: ProgramOptions) -> tuple[Workload, ...]:
    """Return the benchmarks of `SCRIPT.py`, or one of them with `SCRIPT.py:NAME`, in the script's order.

    Raises UsageError for no such file or benchmark and for a script without pyperf, WorkloadError when it fails.
    """
    path, name = parts(text, asked, "Name a pyperf script, for example: pyperf:bench.py")
    script = Script(path, interpreter(asked.python), asked)
    benchmarks = chosen({benchmark.name: benchmark for benchmark in script.benchmarks()}, name, path)
    return tuple(_workload(script, benchmark) for benchmark in benchmarks)


def loops_for(loops: int, work_s: float, took_s: float) -> int:
    """Return enough loops that the rest of the process, its start, is at most START of it; `work_s` of `took_s` were
    loops.

    With s = took - work, the loops take w >= s (1 - START) / START, and not more than MOST_WORK_S for that.
    """
    start_s = max(took_s - work_s, 0.0)
    wanted_s = min(max(WORK_S, start_s * (1 - START) / START), MOST_WORK_S)
    return loops if work_s >= wanted_s or work_s <= 0 else math.ceil(loops * wanted_s / work_s)


def worked_s(suite: dict[str, Any]) -> float:
    """Return the time that the loops of the suite's only value took, s: values are per loop and per inner loop."""
    benchmark = suite["benchmarks"][0]
    known = _metadata(suite, benchmark)
    (value,) = benchmark["runs"][0]["values"]
    return float(value) * int(known.get("loops", 1)) * int(known.get("inner_loops", 1))


def _workload(script: Script, benchmark: PyperfBenchmark) -> Workload:
    loops = script.loops(benchmark)
    argv = script.command(benchmark, loops)
    value = metric(TIME)
    return script.asked.workload(argv, name=benchmark.name, parameters=(("loops", str(loops)),), metrics=(value,))


def _metadata(suite: dict[str, Any], benchmark: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a benchmark: pyperf moves those that are the same everywhere up to the suite."""
    known: dict[str, Any] = {**(suite.get("metadata") or {}), **(benchmark.get("metadata") or {})}
    for run in benchmark.get("runs") or []:
        known.update(run.get("metadata") or {})
    return known
