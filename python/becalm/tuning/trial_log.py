"""The bookkeeping of a tune study: from requests to blocks of steps, and from runs to samples.

`TrialLog` has the runs by loop, settings and program; `NumberedAsk` is an Ask with numbered loops. A loop's number is
the `round` of its runs, so that stored runs are sufficient: a study is resumed by filling `TrialLog` from the store and
repeating its requests. It has no access to a host or a store.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
import numpy as np

from becalm.methods.protocol import Ask, Sample
from becalm.nouns.metric import Metric
from becalm.nouns.run import Outcome, Run
from becalm.plans.trials import TrialGoal
from becalm.stats.arrays import Floats

PAUSE_NS = 600_000_000_000
"""The longest gap between two runs that counts as time of the study, ns; a longer one is an interruption."""


@dataclass(slots=True)
class Cell:
    """The counted runs of one program under one set of settings in one loop. Times in ns; NaN where unknown.

    `printed`: the metric of each run, as its reciprocal if a mean is minimised and larger values are better; empty
    without a metric. `ended_ns`: the times of `failed` runs that were ended early because they were slow. `took_ns`:
    the time of all runs, warm-ups included, with that of starting them and applying settings.
    """

    wall: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    printed: list[float] = field(default_factory=list)
    warmups: int = 0
    failed: int = 0
    ended_ns: list[int] = field(default_factory=list)
    took_ns: int = 0


class NumberedAsk(msgspec.Struct, frozen=True):
    """An Ask with the number of its first loop, and the position of each arm's settings in the study.

    `programs`: the positions of the workloads that each arm runs.
    """

    ask: Ask
    first: int
    settings: tuple[int, ...]
    programs: tuple[int, ...]

    @property
    def loops(self) -> range:
        """The numbers of its loops."""
        return range(self.first, self.first + self.ask.loops)

    @property
    def wanted(self) -> TrialGoal:
        """The goal of the plan for this request."""
        ask = self.ask
        return TrialGoal(self.loops, self.settings, self.programs, ask.runs, ask.warmups, ask.boots)


class TrialLog:
    """Every run of a tune study, by loop, settings and program; a `Record` of `becalm.study.measure`."""

    def __init__(self) -> None:
        self.next_seq = 0
        self.interrupted = False
        self.failure: Run | None = None
        self.elapsed_ns = 0
        self.refused: dict[int, str] = {}
        """The machine's reasons for refusing settings, by the position of these."""
        self._failures: dict[int, Run] = {}
        self._failed: dict[int, set[tuple[int, int]]] = {}
        self._cells: dict[tuple[int, int, int], Cell] = {}
        self._begun: set[int] = set()
        self._ended_ns: int | None = None
        self.boots: dict[int, int] = {}
        """The boots of settings, by position: a number for each set of kernel parameters, 0 for the default one."""
        self.own_boots: set[int] = set()
        """The loops that have boots of their own (`Ask.boots`)."""
        self.metrics: dict[int, Metric] = {}
        """The metric measured in place of the wall time, by the position of the program."""
        self.turned = False
        """Whether metrics of which larger values are better are stored as reciprocals."""
        self.timeouts: dict[int, int | None] = {}
        """The time limits of programs, ns, by position, if slow runs are ended earlier."""
        self.apart_ns: list[int] = []
        """The start of each run that had another one alongside, minus the start of the other one, ns."""
        self._last: tuple[int, int] | None = None
        self._switches: list[tuple[tuple[int, int], tuple[int, int], int]] = []

    def extend(self, rows: Iterable[Run]) -> None:
        """Add runs in the order in which they were made."""
        for run in rows:
            self.next_seq = run.seq + 1
            gap = 0 if self._ended_ns is None else run.started_ns - self._ended_ns
            took_ns = run.took_ns + (gap if 0 <= gap <= PAUSE_NS else 0)
            ended_ns = run.started_ns + run.took_ns
            if run.apart_ns is not None:
                self.apart_ns.append(run.apart_ns)
                if gap < 0 and self._ended_ns is not None:
                    # The time of the program alongside was added before; only a longer time is added now.
                    took_ns = max(0, ended_ns - self._ended_ns)
                    ended_ns = max(ended_ns, self._ended_ns)
            self.elapsed_ns += took_ns
            self._ended_ns = ended_ns
            if run.outcome == Outcome.ABORTED:
                continue
            loop = run.round if run.round >= 0 else -1 - run.round
            if self._last is not None and self._last != (loop, run.settings):
                self._switches.append((self._last, (loop, run.settings), took_ns - run.took_ns))
            self._last = loop, run.settings
            self._begun.add(loop)
            cell = self._cells.setdefault((loop, run.settings, run.workload), Cell())
            cell.took_ns += took_ns
            metric = self.metrics.get(run.workload)
            if run.outcome != Outcome.OK or (metric is not None and run.metrics is None):
                cell.failed += 1
                if self._ended_early(run):
                    cell.ended_ns.append(run.took_ns)
                self._failures[run.settings] = run
                self._failed.setdefault(run.settings, set()).add((loop, run.workload))
            elif run.round < 0:
                cell.warmups += 1
            else:
                cell.wall.append(run.took_ns)
                if metric is not None and run.metrics is not None:
                    cell.printed.append(1.0 / run.metrics[0] if self.turned and metric.higher else run.metrics[0])
                known = run.user_ns is not None and run.system_ns is not None
                cell.cpu.append(float((run.user_ns or 0) + (run.system_ns or 0)) if known else float("nan"))

    def _ended_early(self, run: Run) -> bool:
        """Return whether a run was ended before the time limit of its program."""
        own_ns = self.timeouts.get(run.workload)
        early = own_ns is None or run.took_ns < own_ns
        return run.workload in self.timeouts and run.outcome == Outcome.TIMEOUT and early

    def usual_ns(self, settings: int, program: int, before: int) -> float | None:
        """Return the median wall time of a program's good runs under some settings in the loops before `before`, ns."""
        walls = [
            wall
            for (loop, arm, of), cell in self._cells.items()
            if arm == settings and of == program and loop < before and not cell.failed
            for wall in cell.wall
        ]
        return float(np.median(walls)) if walls else None

    def cell(self, loop: int, settings: int, program: int) -> Cell:
        """Return the runs of one program under one set of settings in one loop."""
        cell = self._cells.get((loop, settings, program))
        return Cell() if cell is None else cell

    def begun(self, loop: int) -> bool:
        """Return whether a loop has any runs."""
        return loop in self._begun

    def failure_of(self, settings: int) -> Run | None:
        """Return the last run of an arm that failed."""
        return self._failures.get(settings)

    def lost(self, goal: TrialGoal, arm: int) -> bool:
        """Return whether an arm has failed, so that it is not measured any more."""
        failed = self._failed.get(arm, ())
        return arm in self.refused or any(loop in goal.loops and program in goal.programs for loop, program in failed)

    @property
    def last(self) -> tuple[int, int] | None:
        """The loop and the settings of the last run; None without runs."""
        return self._last

    @property
    def run_ns(self) -> float | None:
        """The mean time of a run, with the time before it, ns; None without runs."""
        return self.elapsed_ns / self.next_seq if self.next_seq else None

    def counts(self, loop: int, arm: int, program: int) -> tuple[int, int]:
        """Return the numbers of counted runs and of warm-ups."""
        cell = self.cell(loop, arm, program)
        return len(cell.wall), cell.warmups

    def _boot(self, settings: int) -> int:
        return self.boots.get(settings, 0)

    def _own(self, before: int, loop: int) -> bool:
        return loop != before and loop in self.own_boots

    def reboots(self) -> tuple[int, float | None]:
        """Return the number of restarts of the machine between two runs, and their median time, ns."""
        gaps = [
            gap
            for (before, settings), (loop, other), gap in self._switches
            if self._boot(settings) != self._boot(other) or self._own(before, loop)
        ]
        return len(gaps), float(np.median(gaps)) if gaps else None

    def samples(self, ask: NumberedAsk, program: int) -> list[Sample]:
        """Return the samples of a request for one program, one for each arm."""
        result = []
        for arm, settings in zip(ask.ask.arms, ask.settings, strict=True):
            cells = [self.cell(loop, settings, program) for loop in ask.loops]
            wall = tuple(np.array(cell.wall, dtype=np.float64) for cell in cells if cell.wall)
            ran_badly = sum(cell.failed for cell in cells)
            refused = settings in self.refused and not ran_badly
            failed = max(int(refused), ran_badly)
            ended = tuple(ended_n for cell in cells for ended_n in cell.ended_ns)
            if program in self.metrics:
                printed = tuple(np.array(cell.printed, dtype=np.float64) for cell in cells if cell.wall)
                result.append(Sample(arm, printed, failed, wall, ended, refused))
            else:
                result.append(Sample(arm, wall, failed, ended_ns=ended, refused=refused))
        return result

    def together(self, ask: NumberedAsk, programs: Iterable[int]) -> list[Sample]:
        """Return the samples of a request for all programs together, with the loops of all programs.

        A spread is a share of its loop's mean, so that long programs do not have more weight than short ones.
        """
        by_program = [self.samples(ask, program) for program in programs]
        return [
            Sample(
                arm[0].settings,
                tuple(loop for sample in arm for loop in sample.loops),
                max(sample.failed for sample in arm),
                tuple(loop for sample in arm for loop in sample.wall_ns),
                # It may have failed for another reason with another program.
                next((sample.ended_ns for sample in arm if sample.slow), ())
                if all(sample.slow or not sample.failed for sample in arm)
                else (),
            )
            for arm in zip(*by_program, strict=True)
        ]

    def took_ns(self, ask: NumberedAsk, programs: Iterable[int]) -> int:
        """Return the time of a request for these programs, ns; it is the same for stored runs."""
        return sum(
            self.cell(loop, settings, program).took_ns
            for loop in ask.loops
            for settings in set(ask.settings)
            for program in programs
        )

    def cpu(self, ask: NumberedAsk, settings: int, program: int) -> list[Floats]:
        """Return the CPU times of an arm's counted runs, ns, one array for each loop; NaN where unknown."""
        cells = (self.cell(loop, settings, program) for loop in ask.loops)
        return [np.array(cell.cpu, dtype=np.float64) for cell in cells if cell.wall]
