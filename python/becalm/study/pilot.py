"""Runs before a search for settings: how long its programs are, how much they scatter, and a kernel as long as they."""

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
from becalm.wording import compare

KERNEL_ITERATIONS = 4_000_000
"""The iterations of the first run of the built-in kernel, which is then made as long as the programs, within limits."""

KERNEL_NS = (2e6, 50e6)

SEVERAL = 5
"""Pilot runs of each program whose scatter is to say how small a gain can be found."""

ENOUGH_NS = 20e9
"""No further pilot run of a program that has taken so long already."""


def pilot_runs(
    opened: StudySession, programs: Sequence[Workload], *, several: bool = False, alone: bool = False
) -> tuple[Workload | None, list[Run], bool]:
    """Return the built-in kernel, about as long as the programs, None where the host has none; the pilot runs of these,
    and whether none of them failed.

    `alone`: no measurement follows that would report why a program fails. Raises WorkloadError and UsageError then.
    """
    kernel = Workload(kernel="add", iterations=KERNEL_ITERATIONS, name="pure additions")
    pilots: list[Run] = []
    texts: dict[int, str] = {}
    unit = 0.0
    with contextlib.suppress(WorkloadError, UsageError):
        unit = _shortest(_made(opened, kernel, 3))
    try:
        if unit or several or alone:
            for index, each in enumerate(programs):
                _add(opened, each, index, SEVERAL if several or alone else 1, pilots, texts)
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


def _add(
    opened: StudySession, program: Workload, index: int, runs: int, pilots: list[Run], texts: dict[int, str]
) -> None:
    """Add pilot runs of one program, one after the other, as long as they are short and end well."""
    spent = 0.0
    for _ in range(runs):
        found = [run._replace(seq=len(pilots), workload=index) for run in _made(opened, program, 1, len(pilots), texts)]
        pilots += found
        spent += sum(run.took_ns for run in found)
        if spent > ENOUGH_NS or any(run.outcome != Outcome.OK for run in found):
            return


def _made(
    opened: StudySession, workload: Workload, runs: int, first: int = 0, texts: dict[int, str] | None = None
) -> list[Run]:
    opened.host.define([workload], [NO_SETTINGS])
    block = Block(tuple(Step(0, 0, 0, PILOT) for _ in range(runs)))
    events = list(opened.host.measure(MeasureRequest(first, block)))
    if texts is not None:
        texts |= {event.seq: event.stderr for event in events if isinstance(event, RunText)}
    return list(runs_of(events))


def _refuse_failing(programs: Sequence[Workload], pilots: Sequence[Run], texts: Mapping[int, str]) -> None:
    """Raise WorkloadError for a program that failed in its pilot runs, as its cost is then unknown."""
    for run in pilots:
        if run.outcome != Outcome.OK:
            program = programs[run.workload]
            numbers = failure_numbers(run, texts.get(run.seq, ""), 0, program)
            raise WorkloadError(compare.failure(program.name, {**numbers, "warmup": False}))


def _shortest(runs: Sequence[Run]) -> float:
    return float(min((run.took_ns for run in runs if run.outcome == Outcome.OK), default=0))


def wall_times(pilots: Sequence[Run], programs: int) -> list[Floats]:
    """Return the wall times of the good pilot runs of each program, ns."""
    return _of_each(pilots, programs, lambda run: run.took_ns)


def responses(pilots: Sequence[Run], programs: int) -> list[Floats]:
    """Return the same of the response: the first metric of a program, else its wall time."""
    return _of_each(pilots, programs, lambda run: run.metrics[0] if run.metrics else run.took_ns)


def _of_each(pilots: Sequence[Run], programs: int, value: Callable[[Run], float]) -> list[Floats]:
    good = [run for run in pilots if run.outcome == Outcome.OK]
    return [np.array([value(run) for run in good if run.workload == index], np.float64) for index in range(programs)]
