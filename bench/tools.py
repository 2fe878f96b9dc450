"""The tools that are compared, each driven by its own command line for a given wall time.

Every tool gets the same wall time, its own start-up and its own verdict included, and one warm-up run of each
program. becalm is told the time; the others are told a number of runs, which `Pace` chooses so that the time is used.
A tool may give several readings of the same runs, for example its own verdict and Welch's test on its values.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from scipy import stats

from campaign import becalm_command, timed

LEVEL = 0.05
Argv = Sequence[str]


@dataclass(frozen=True)
class Reading:
    """A tool's reading of the second program against the first: answer +1 slower, -1 faster, 0 no difference."""

    answer: int
    estimate: float


@dataclass(frozen=True)
class Measured:
    """The result of one comparison: readings by name, the wall time of everything, runs of each program, and what else
    is known."""

    readings: Mapping[str, Reading]
    wall_s: float
    runs: int
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the result as it is stored in the log of trials."""
        by_kind = {name: {"answer": r.answer, "estimate": r.estimate} for name, r in self.readings.items()}
        return {"readings": by_kind, "wall_s": round(self.wall_s, 4), "runs": self.runs, **self.more}


class Pace:
    """The number of runs that fill a time: wall = fixed + runs * each, both in seconds.

    Two measured points start it; every later one corrects `each`, since the machine's speed drifts.
    """

    WEIGHT = 0.3

    def __init__(self, few: tuple[int, float], many: tuple[int, float]) -> None:
        self.each = (many[1] - few[1]) / (many[0] - few[0])
        if self.each <= 0:
            raise SystemExit(f"More runs took less time: {few} and {many} (runs, seconds). The machine is too busy.")
        self.fixed = max(0.0, few[1] - few[0] * self.each)

    def runs(self, seconds: float, least: int = 3) -> int:
        """Return the number of runs that fit in `seconds`."""
        return max(least, int((seconds - self.fixed) / self.each))

    def correct(self, runs: int, seconds: float) -> None:
        """Learn from one more point."""
        seen = (seconds - self.fixed) / runs
        if seen > 0:
            self.each += self.WEIGHT * (seen - self.each)


class Tool(Protocol):
    """Compares two programs in a wall time. `calibrate` is called once before, with a program of the same length."""

    name: str

    def calibrate(self, program: Argv, seconds: float) -> None: ...

    def compare(self, first: Argv, second: Argv, seconds: float) -> Measured: ...


def welch(first: Sequence[float], second: Sequence[float]) -> Reading:
    """Apply Welch's t-test at 5 %, two-sided; the estimate is the ratio of the means less 1."""
    estimate = statistics.fmean(second) / statistics.fmean(first) - 1
    p_value = float(stats.ttest_ind(second, first, equal_var=False).pvalue)
    return Reading(_sign(estimate) if p_value < LEVEL else 0, estimate)


def _sign(value: float) -> int:
    return int(math.copysign(1, value)) if value else 0


class Becalm:
    """`becalm compare --budget`, in turns: what it needs to start and to conclude is learned, and taken off the
    budget."""

    name = "becalm, turns"
    schedule = "turns"

    def __init__(self, directory: Path) -> None:
        self.store = directory / f"{self.name}.db"
        self.rest = 0.0

    def calibrate(self, program: Argv, seconds: float) -> None:
        budget = min(1.0, seconds / 2)
        self._run(program, program, budget)
        wall, _ = self._run(program, program, budget)
        self.rest = max(0.0, wall - budget)

    def compare(self, first: Argv, second: Argv, seconds: float) -> Measured:
        budget = max(0.1, seconds - self.rest)
        wall, verdict = self._run(first, second, budget)
        difference = verdict["differences"][0]
        if verdict["stopped"] == "budget used":
            self.rest = max(0.0, self.rest + Pace.WEIGHT * (wall - budget - self.rest))
        answer = {"slower": 1, "faster": -1}.get(difference["answer"], 0)
        more = {key: difference[key] for key in ("low", "high", "standard_error", "detectable")}
        more |= {"stopped": verdict["stopped"], "chosen": chosen_schedule(verdict["findings"])}
        # Without any pair nothing is known, which is as good as no difference.
        reading = Reading(answer, difference["estimate"] or 0.0)
        return Measured({self.name: reading}, wall, difference["pairs"], more)

    def _run(self, first: Argv, second: Argv, budget: float) -> tuple[float, dict[str, Any]]:
        options = ["--budget", f"{budget:.3f}s", "--warmup", "1", "--json", "--store", str(self.store)]
        options += ["--schedule", self.schedule]
        done = timed([*becalm_command(), "compare", *options, shlex.join(first), shlex.join(second)])
        return done.wall_s, json.loads(done.stdout)


class BecalmAtOnce(Becalm):
    """The same with both programs at the same time."""

    name = "becalm, at once"
    schedule = "at-once"


class BecalmAuto(Becalm):
    """The same with the schedule that tells more."""

    name = "becalm, auto"
    schedule = "auto"


def chosen_schedule(findings: Sequence[Mapping[str, Any]]) -> str:
    """Return how programs ran for the most part, and why they took turns where both schedules were allowed."""
    for finding in findings:
        numbers = finding["numbers"]
        if finding["kind"] == "turns":
            return f"turns ({numbers['reason']})"
        if finding["kind"] == "alongside":
            # A group at once is two rounds.
            return "at once" if 2 * numbers["at_once"] > numbers["turns"] else "turns"
    return "turns"


class Pairs:
    """Runs in pairs, by turns the first or the second program first, judged as tango-bench does (`DiffEstimate` in its
    src/cli.rs): the mean difference counts from 2.6 standard errors on, if it is more than 0.5 %.

    Its own programs are functions in one process; here each run is a process, timed from its start to its end.
    """

    name = "pairs"
    Z_SCORE, LEAST = 2.6, 0.005

    def __init__(self, directory: Path) -> None:
        self.least = 3

    def calibrate(self, program: Argv, seconds: float) -> None:
        self._time(program)

    def compare(self, first: Argv, second: Argv, seconds: float) -> Measured:
        begun = time.monotonic()
        for program in (first, second):
            self._time(program)
        times: tuple[list[float], list[float]] = ([], [])
        while len(times[0]) < self.least or time.monotonic() - begun < seconds:
            order = (0, 1) if len(times[0]) % 2 else (1, 0)
            for place in order:
                times[place].append(self._time((first, second)[place]))
        reading = paired(*times, self.Z_SCORE, self.LEAST)
        return Measured({self.name: reading}, time.monotonic() - begun, len(times[0]))

    def _time(self, program: Argv) -> float:
        null = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_RDWR, 0) for descriptor in (0, 1, 2)]
        begun = time.perf_counter()
        pid = os.posix_spawnp(program[0], list(program), os.environ, file_actions=null)
        _, status, _ = os.wait4(pid, 0)
        taken = time.perf_counter() - begun
        if status:
            raise SystemExit(f"{shlex.join(program)} ended with status {os.waitstatus_to_exitcode(status)}.")
        return taken


def paired(first: Sequence[float], second: Sequence[float], z_score: float, least: float) -> Reading:
    """Return the reading of the mean difference of pairs, a share of the mean of the first ones."""
    differences = [after - before for before, after in zip(first, second, strict=True)]
    mean = statistics.fmean(differences)
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    estimate = mean / statistics.fmean(first)
    called = abs(mean) >= z_score * error and abs(estimate) > least
    return Reading(_sign(estimate) if called else 0, estimate)


class Hyperfine:
    """`hyperfine -N`: all runs of the first program, then all of the second. Read by Welch's test on its times."""

    name = "hyperfine"

    def __init__(self, directory: Path) -> None:
        self.export = directory / "hyperfine.json"
        self.paces: dict[float, Pace] = {}

    def calibrate(self, program: Argv, seconds: float) -> None:
        few, many = 4, 24
        self._run(program, program, few)
        self.paces[seconds] = Pace(
            (few, self._run(program, program, few)[0]), (many, self._run(program, program, many)[0])
        )

    def compare(self, first: Argv, second: Argv, seconds: float) -> Measured:
        pace = self.paces[seconds]
        runs = pace.runs(seconds)
        wall, times = self._run(first, second, runs)
        pace.correct(runs, wall)
        return Measured({"hyperfine, Welch": welch(*times)}, wall, runs)

    def _run(self, first: Argv, second: Argv, runs: int) -> tuple[float, tuple[list[float], list[float]]]:
        options = ["--shell=none", "--style=none", "--warmup=1", f"--runs={runs}", f"--export-json={self.export}"]
        done = timed(["hyperfine", *options, shlex.join(first), shlex.join(second)])
        first_result, two = json.loads(self.export.read_text(encoding="utf-8"))["results"]
        return done.wall_s, (first_result["times"], two["times"])


class Pyperf:
    """`pyperf command` for each program and `pyperf compare_to`.

    One worker process for each second and program, at least two, and in each as many values of one run as fit: more
    values than pyperf's default of three a process would give in the time. Both programs get equally many, since
    `compare_to` calls everything significant when the counts differ.
    """

    name = "pyperf"

    def __init__(self, directory: Path) -> None:
        self.files = (directory / "first.json", directory / "second.json")
        self.paces: dict[float, Pace] = {}

    def calibrate(self, program: Argv, seconds: float) -> None:
        few, many = 2, 8
        self._run(program, program, few, seconds)
        self.paces[seconds] = Pace(
            (few, self._run(program, program, few, seconds)[0]), (many, self._run(program, program, many, seconds)[0])
        )

    def compare(self, first: Argv, second: Argv, seconds: float) -> Measured:
        pace = self.paces[seconds]
        values = pace.runs(seconds, least=2)
        wall, significant, times = self._run(first, second, values, seconds)
        pace.correct(values, wall)
        tested = welch(*times)
        own = Reading(_sign(tested.estimate) if significant else 0, tested.estimate)
        return Measured({"pyperf, compare_to": own, "pyperf, Welch": tested}, wall, len(times[0]))

    def _run(
        self, first: Argv, second: Argv, values: int, seconds: float
    ) -> tuple[float, bool, tuple[list[float], list[float]]]:
        pyperf = [sys.executable, "-m", "pyperf"]
        options = [
            f"--processes={max(2, int(seconds / 2))}",
            f"--values={values}",
            "--warmups=1",
            "--loops=1",
            "--quiet",
        ]
        wall = 0.0
        for file, program in zip(self.files, (first, second), strict=True):
            file.unlink(missing_ok=True)
            wall += timed([*pyperf, "command", *options, "--output", str(file), *program]).wall_s
        done = timed([*pyperf, "compare_to", *map(str, self.files)])
        times = (pyperf_values(self.files[0]), pyperf_values(self.files[1]))
        return wall + done.wall_s, "not significant" not in done.stdout.lower(), times


def pyperf_values(file: Path) -> list[float]:
    """Return all values of a pyperf file, in seconds, without warm-ups."""
    (benchmark,) = json.loads(file.read_text(encoding="utf-8"))["benchmarks"]
    return [value for run in benchmark["runs"] for value in run.get("values", ())]


def make_tools(names: Sequence[str], directory: Path) -> list[Tool]:
    """Return the tools of the given names. Raises SystemExit for an unknown name."""
    known: dict[str, type[Becalm] | type[Hyperfine] | type[Pyperf] | type[Pairs]] = {
        "turns": Becalm,
        "at-once": BecalmAtOnce,
        "auto": BecalmAuto,
        "hyperfine": Hyperfine,
        "pyperf": Pyperf,
        "pairs": Pairs,
    }
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"There is no tool {unknown[0]!r} here. Known: {', '.join(known)}.")
    return [known[name](directory) for name in names]
