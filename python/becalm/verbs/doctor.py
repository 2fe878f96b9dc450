"""`becalm doctor`: what this machine is and permits, how noisy it is, and advice about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from becalm import hosts
from becalm.analysis.doctor_advice import advise
from becalm.analysis.noise_floor import noise, overhead, stolen_and_others
from becalm.analysis.shared_noise import shared_noise
from becalm.errors import WorkloadError
from becalm.hosts import Access, Event, Host, LoadDetail, Loads, MeasureRequest, Runs, runs_of
from becalm.load.record import Load
from becalm.nouns.run import Block, Outcome, Run, Step
from becalm.nouns.settings import Settings
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.workload import Workload
from becalm.plans.groups import Groups
from becalm.plans.history import History
from becalm.plans.schedule import Schedule
from becalm.plans.timed import WARMUPS, timed
from becalm.results.doctor import Diagnosis, Noise, Overhead, SharedNoise
from becalm.results.progress import Progress, ProgressListener, Quiet
from becalm.study.measure import measure as run_plan
from becalm.study.two_cpus import two_cpus
from becalm.units import duration_ns

KERNEL_NS = 7e6
"""The length of a run of the fixed kernel, ns: short against a scheduler's slice, long against starting a process."""

CALIBRATION_ITERATIONS = 4_000_000
CALIBRATION_RUNS = 5

OVERHEAD_SHARE, SHARED_SHARE = 0.1, 0.3
"""Shares of the budget for becalm's overhead and for the noise that two CPUs share; the noise floor has the rest."""

OVERHEAD_RUNS = 200
EMPTY_PROGRAM_NS = 1e6
"""A generous estimate of the cost of an empty program, to keep the overhead's part of the budget, ns."""


def doctor(
    host: str | Host = "local",
    measure: bool = True,
    budget: float | str = "5s",
    listener: ProgressListener | None = None,
    *,
    sudo: bool = False,
) -> Diagnosis:
    """Find out what a machine is and permits, how far its run times vary by themselves, and what becalm adds.

    Arguments:
        host: where, as for all verbs ("local").
        measure: also run a fixed piece of work (n dependent additions, about 7 ms) again and again.
        budget: the time for that, in seconds, or text with a unit.
        listener: called with the progress.
        sudo: report the settings that would be permitted with sudo.

    Returns a Diagnosis; its findings are ranked, the worst first. After an interruption it uses the finished runs.
    Raises UsageError, MachineError.
    """
    budget_ns = duration_ns(budget)
    floor, added, unmeasured = None, None, "It was left out (--no-measure)."
    shared, unshared = None, ""
    access = Access(sudo=sudo)
    with hosts.open(host, access) as machine:
        facts = machine.facts()
        if measure:
            try:
                measured, added = _measure(machine, budget_ns, listener or Quiet())
                floor = _noise(measured)
                unmeasured = "" if floor else "Interrupted before the first run ended."
                if added is not None:
                    shared, unshared = _shared(machine, measured.iterations, budget_ns * SHARED_SHARE)
            except WorkloadError as error:
                unmeasured = str(error)
    findings = advise(facts, floor)
    name = host if isinstance(host, str) else host.name
    return Diagnosis(name, facts, floor, added, findings, unmeasured, shared, unshared)


@dataclass(slots=True)
class _Measured:
    """The runs of the fixed kernel, with the load of the machine during them."""

    iterations: int
    runs: list[Run] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)


def _measure(machine: Host, budget_ns: int, listener: ProgressListener) -> tuple[_Measured, Overhead | None]:
    """Return the runs of the fixed kernel, and the overhead (None if interrupted before)."""
    listener.started(None, ["fixed kernel"], StoppingRule(budget_ns=budget_ns, warmup=WARMUPS))
    iterations = _calibrate(machine)
    machine.define([_kernel(iterations)], [Settings()])
    measured = _Measured(iterations)
    history = History(1)

    def take(event: Event) -> None:
        if isinstance(event, Loads):
            measured.loads.extend(event.loads)
        elif isinstance(event, Runs) and event.rows:
            measured.runs.extend(event.rows)
            listener.running(event.rows[-1].seq + 1)

    def plan(history: History) -> Block | None:
        share = min(1.0, history.elapsed_ns / budget_ns)
        listener.progressed(Progress(history.elapsed_ns, history.rounds, history.next_seq, share, None))
        return timed(history, budget_ns * (1 - OVERHEAD_SHARE - SHARED_SHARE), KERNEL_NS)

    run_plan(machine, plan, history, take, detail=LoadDetail.TOTALS)
    if history.interrupted:
        return measured, None
    pairs = max(1, min(OVERHEAD_RUNS, round(budget_ns * OVERHEAD_SHARE / (2 * EMPTY_PROGRAM_NS))))
    return measured, overhead(*machine.overhead(pairs))


def _shared(machine: Host, iterations: int, budget_ns: float) -> tuple[SharedNoise | None, str]:
    """Return the noise that two CPUs share, or the reason why it is unknown."""
    two = two_cpus(machine.facts())
    if two.cpus is None:
        return None, f"{two.reason[:1].upper()}{two.reason[1:]}."
    machine.define([_kernel(iterations)] * 2, [Settings()])
    history, goal = History(2), StoppingRule(budget_ns=round(budget_ns), warmup=1)
    groups = Groups(Schedule.BOTH, two.cpus, np.random.default_rng(0))

    def plan(history: History) -> Block | None:
        return None if goal.exhausted(history) else groups.block(history, goal)

    run_plan(machine, plan, history, lambda event: None)
    if history.failure is not None:
        return None, "A run on one of the CPUs failed."
    shared = shared_noise(history, groups)
    return shared, "" if shared else "There were too few runs: give a larger --budget."


def _calibrate(machine: Host) -> int:
    """Return the iterations with which the fixed kernel takes about KERNEL_NS here, by the shortest of a few runs."""
    machine.define([_kernel(CALIBRATION_ITERATIONS)], [Settings()])
    block = Block(tuple(Step(0, 0, 0, index) for index in range(CALIBRATION_RUNS)))
    shortest = min(run.took_ns for run in runs_of(machine.measure(MeasureRequest(0, block))))
    return max(1, round(CALIBRATION_ITERATIONS * KERNEL_NS / max(1, shortest)))


def _kernel(iterations: int) -> Workload:
    return Workload(kernel="add", iterations=iterations, name="fixed kernel")


def _noise(measured: _Measured) -> Noise | None:
    runs = [run for run in measured.runs if not run.warmup and run.outcome == Outcome.OK]
    if not runs:
        return None

    def column(values: Sequence[int | None]) -> list[float]:
        return [math.nan if value is None else float(value) for value in values]

    wall = [run.took_ns for run in runs]
    cpu = column([None if r.user_ns is None or r.system_ns is None else r.user_ns + r.system_ns for r in runs])
    elapsed_ns = runs[-1].started_ns + runs[-1].took_ns - runs[0].started_ns
    return noise(
        wall,
        cpu,
        column([run.wait_ns for run in runs]),
        gap_ns=max(0, elapsed_ns - sum(wall)) / len(runs),
        elapsed_s=elapsed_ns / 1e9,
        stolen_others=stolen_and_others(measured.loads, measured.runs),
    )
