"""Pilot runs before a search for settings: the programs' length and scatter, and a kernel of about their length."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from becalm.analysis.diagnostics import failure_numbers
from becalm.errors import UsageError, WorkloadError
from becalm.hosts import MeasureRequest, RunText, runs_of
from becalm.methods.protocol import NO_SETTINGS
from becalm.nouns.run import PILOT, Block, Outcome, Run, Step
from becalm.nouns.workload import Workload
from becalm.stats.arrays import Floats
from becalm.study.session import StudySession
from becalm.wording import run_problems

KERNEL_ITERATIONS = 4_000_000
"""The iterations of the built-in kernel's first runs, from which those of about the programs' length are computed."""

KERNEL_NS = (2e6, 50e6)
"""The shortest and the longest run of the built-in kernel, ns."""

SEVERAL = 5
"""The number of pilot runs of a program, if their scatter shall show how small a gain can be found."""

ENOUGH_NS = 20e9
"""The time after which a program has no further pilot run, ns."""


def pilot_runs(
    opened: StudySession, programs: Sequence[Workload], *, several: bool = False, alone: bool = False
) -> tuple[Workload | None, list[Run], bool]:
    """Return the built-in kernel, the programs' pilot runs, and whether all of these ended well.

    The kernel takes about as long as the programs; None where the host has none. `several`: make several runs of each
    program. `alone`: no measurement follows that would report why a program fails, so WorkloadError and UsageError are
    raised here.
    """
    kernel = Workload(kernel="add", iterations=KERNEL_ITERATIONS, name="pure additions")
    pilots: list[Run] = []
    texts: dict[int, str] = {}
    unit = 0.0
    with contextlib.suppress(WorkloadError, UsageError):
        unit = _shortest(_measure_runs(opened, kernel, 3))
    try:
        if unit or several or alone:
            for index, program in enumerate(programs):
                _add_pilots(opened, program, index, SEVERAL if several or alone else 1, pilots, texts)
            if alone:
                _refuse_failing(programs, pilots, texts)
            wanted = max((_shortest([run]) for run in pilots), default=0.0)
            wanted = min(max(wanted, KERNEL_NS[0]), KERNEL_NS[1])
            if unit:
                kernel = replace(kernel, iterations=max(1, round(KERNEL_ITERATIONS * wanted / max(unit, 1.0))))
    except (WorkloadError, UsageError):
        if alone:
            raise
        return None, pilots, False
    return kernel if unit else None, pilots, all(run.outcome == Outcome.OK for run in pilots)


def _add_pilots(
    opened: StudySession, program: Workload, index: int, runs: int, pilots: list[Run], texts: dict[int, str]
) -> None:
    """Add pilot runs of one program, one after the other, until ENOUGH_NS is used or a run fails."""
    spent = 0.0
    for _ in range(runs):
        new_runs = [
            run._replace(seq=len(pilots), workload=index)
            for run in _measure_runs(opened, program, 1, len(pilots), texts)
        ]
        pilots += new_runs
        spent += sum(run.took_ns for run in new_runs)
        if spent > ENOUGH_NS or any(run.outcome != Outcome.OK for run in new_runs):
            return


def _measure_runs(
    opened: StudySession, workload: Workload, runs: int, first: int = 0, texts: dict[int, str] | None = None
) -> list[Run]:
    opened.host.define([workload], [NO_SETTINGS])
    block = Block(tuple(Step(0, 0, 0, PILOT) for _ in range(runs)))
    events = list(opened.host.measure(MeasureRequest(first, block)))
    if texts is not None:
        texts |= {event.seq: event.stderr for event in events if isinstance(event, RunText)}
    return list(runs_of(events))


def _refuse_failing(programs: Sequence[Workload], pilots: Sequence[Run], texts: Mapping[int, str]) -> None:
    """Raise WorkloadError for a program whose pilot run failed: its cost is unknown."""
    for run in pilots:
        if run.outcome != Outcome.OK:
            program = programs[run.workload]
            numbers = failure_numbers(run, texts.get(run.seq, ""), 0, program)
            raise WorkloadError(run_problems.failure(program.name, {**numbers, "warmup": False}))


def _shortest(runs: Sequence[Run]) -> float:
    return float(min((run.took_ns for run in runs if run.outcome == Outcome.OK), default=0))


def wall_times(pilots: Sequence[Run], programs: int) -> list[Floats]:
    """Return the wall times of the good pilot runs of each program, ns."""
    return _values_by_program(pilots, programs, lambda run: run.took_ns)


def responses(pilots: Sequence[Run], programs: int) -> list[Floats]:
    """Return the responses of the good pilot runs of each program: its first metric, or else its wall time in ns."""
    return _values_by_program(pilots, programs, lambda run: run.metrics[0] if run.metrics else run.took_ns)


def _values_by_program(pilots: Sequence[Run], programs: int, value: Callable[[Run], float]) -> list[Floats]:
    good = [run for run in pilots if run.outcome == Outcome.OK]
    return [np.array([value(run) for run in good if run.workload == index], np.float64) for index in range(programs)]
