"""Tasks on chips played through from event to event, as AKULA does (Zhuravlev et al. 2010; Anderson 2013, 3.2 and
6.21).

A process progresses at (1 - its cost next to the processes on its chip) / solo. By default a process that ends begins
again until every task has run `runs` times, so that neighbours never change and every run takes the time that the table
of costs predicts. With `drain` nothing begins again: the remaining processes run with fewer neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from becalm.errors import UsageError
from becalm.placement.problem import Problem
from becalm.results.place_costs import Chip, CoRunCosts, PlacementObjective, Task, unfairness

RUNS = 3
"""The least number of runs of each task."""

MOST_EVENTS = 5_000_000
"""The largest number of ends of runs to simulate, which takes about a minute."""


class PlayedTasks(msgspec.Struct, frozen=True):
    """The result of playing tasks, by name.

    - `run_s`: the mean time of a task's complete runs (of its slowest process, if it has several)
    - `degradation`: (run - solo) / run
    - `runs`: the number of complete runs
    - `end_s`: the end of the last required run
    """

    DERIVED = ("mean",)

    run_s: Mapping[str, float]
    degradation: Mapping[str, float]
    runs: Mapping[str, int]
    end_s: float
    events: int

    @property
    def mean(self) -> float:
        """Mean degradation over the tasks."""
        return math.fsum(self.degradation.values()) / len(self.degradation)

    def cost(self, objective: PlacementObjective) -> float:
        """Return the mean over the tasks on the scale of an objective."""
        return math.fsum(objective.of(degradation) for degradation in self.degradation.values()) / len(self.degradation)

    @property
    def unfairness(self) -> float | None:
        """100 times the standard deviation (over N) of the degradations over their mean; None where nothing is lost."""
        return unfairness(list(self.degradation.values()))


@dataclass(slots=True)
class _Process:
    """A running process: the rest of its run, the time of the last change, and the total time of complete runs."""

    chip: int
    solo_s: float
    left: float = 1.0
    since_s: float = 0.0
    rate: float = 0.0
    taken_s: float = 0.0
    runs: int = 0
    running: bool = True


def play(
    tasks: Sequence[Task],
    chips: Sequence[Chip],
    costs: CoRunCosts | None,
    sharing: Sequence[Sequence[str]],
    *,
    drain: bool = False,
    runs: int = RUNS,
) -> PlayedTasks:
    """Play tasks on chips through. `sharing`: as in a Placement. Raises UsageError for a sharing that does not have
    every process exactly once, for a task without a time alone, and for unknown costs."""
    problem = Problem.of(tasks, chips, costs, PlacementObjective.DEGRADATION)
    if runs < 1:
        raise UsageError(f"Each task must run at least once, not {runs} times.")
    where = _numbers(problem, sharing)
    processes = []
    for number, task in enumerate(problem.item):
        if task.solo_s is None:
            raise UsageError(f"The time that {task.name} takes alone is not known. Give its `solo_s` to simulate it.")
        processes.append(_Process(where[number], task.solo_s))
    needed = 1 if drain else runs
    if (many := _most_events(processes, needed)) > MOST_EVENTS:
        raise UsageError(
            f"While the longest task runs {needed} times, others would run about {many:.0e} times, more than the "
            f"limit of {MOST_EVENTS:,}. Simulate tasks whose times differ less."
        )
    now, events = 0.0, 0
    changed = set(range(len(chips)))
    while any(process.runs < needed for process in processes):
        for chip in changed:
            _set_rates(problem, processes, chip)
        step = min(process.left / process.rate for process in processes if process.running)
        now += step
        changed = set()
        for process in processes:
            if process.running:
                # A process within rounding of its end has ended, so that equal tasks end together.
                process.left -= step * process.rate
                if process.left <= 1e-12:
                    _end(process, now, drain, changed)
                    events += 1
    return _summed(problem, processes, now, events)


def _most_events(processes: Sequence[_Process], needed: int) -> float:
    """Return the approximate number of runs that end until the longest task has run often enough."""
    longest = max(process.solo_s for process in processes)
    return sum(needed * longest / process.solo_s for process in processes)


def _numbers(problem: Problem, sharing: Sequence[Sequence[str]]) -> list[int]:
    """Return the chip of each process. Raises UsageError unless each occurs once and chips have room."""
    free: dict[str, list[int]] = {}
    for number, task in enumerate(problem.item):
        free.setdefault(task.name, []).append(number)
    where = [-1] * len(problem.item)
    if len(sharing) != len(problem.chips):
        raise UsageError(f"The placement has {len(sharing)} chips, and the machine has {len(problem.chips)}.")
    for chip, names in enumerate(sharing):
        if len(names) > problem.rooms[chip]:
            raise UsageError(
                f"Chip {chip} has room for {problem.rooms[chip]} processes, and {len(names)} are placed there."
            )
        for name in names:
            if not free.get(name):
                raise UsageError(f"{name} is placed more often than it has processes, or is not a task.")
            where[free[name].pop(0)] = chip
    if lost := [name for name, left in free.items() if left]:
        raise UsageError(f"{lost[0]} is not placed on any chip.")
    return where


def _set_rates(problem: Problem, processes: Sequence[_Process], chip: int) -> None:
    members = [number for number, process in enumerate(processes) if process.running and process.chip == chip]
    for number, lost in zip(members, problem.losses(members, problem.chips[chip]), strict=True):
        total = lost + float(problem.away[number, chip])
        if total >= 1:
            raise UsageError(f"{problem.item[number].name} would not run at all: it loses {total:.0%} of its speed.")
        processes[number].rate = (1 - total) / processes[number].solo_s


def _end(process: _Process, now: float, drain: bool, changed: set[int]) -> None:
    process.runs += 1
    process.taken_s += now - process.since_s
    process.left, process.since_s = 1.0, now
    if drain:
        process.running = False
        changed.add(process.chip)


def _summed(problem: Problem, processes: Sequence[_Process], now: float, events: int) -> PlayedTasks:
    run_s: dict[str, float] = {}
    runs: dict[str, int] = {}
    for task, process in zip(problem.item, processes, strict=True):
        run_s[task.name] = max(run_s.get(task.name, 0.0), process.taken_s / process.runs)
        runs[task.name] = min(runs.get(task.name, process.runs), process.runs)
    lost = {task.name: (run_s[task.name] - (task.solo_s or 0.0)) / run_s[task.name] for task in problem.tasks}
    return PlayedTasks(run_s, lost, runs, now, events)
