"""The counters behind a difference between programs: more instructions, or slower ones.

The time of a program is its instructions over their rate: log(time) = log(instructions) - log(instructions per cycle) -
log(frequency). The first two terms depend on the program, and are compared like times, in the same pairs.

Public: instruction_findings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from becalm.nouns.finding import Finding
from becalm.nouns.workload import Workload
from becalm.plans.history import History, Printed, by_round
from becalm.stats.arrays import Floats, Positions
from becalm.stats.multiplicity import simultaneous_alpha
from becalm.stats.paired import PairedEstimate, RepeatedPairs
from becalm.wording.findings import finding

INSTRUCTIONS, CYCLES = "counter:instructions", "counter:cycles"


def instruction_findings(
    names: Sequence[str],
    workloads: Sequence[Workload],
    history: History,
    metrics: Callable[[int], Printed],
    reference: int,
    confidence: float,
) -> tuple[Finding, ...]:
    """Return a finding for each program other than the reference; empty where a counter is missing.

    `metrics`: returns the metrics of a program by its number: its runs in order by `seq`, shape (runs,), and their
    metrics, (runs, metrics).
    """
    places = [_counter_columns(workload) for workload in workloads]
    if len(workloads) < 2 or any(place is None for place in places) or not history.rounds:
        return ()
    logs = [
        _logarithms(metrics(index), history.seqs(index), place)
        for index, place in enumerate(places)
        if place is not None
    ]
    if any(not np.isfinite(log).all() for log in logs):
        return ()
    others = [index for index in range(len(workloads)) if index != reference]
    alpha = simultaneous_alpha(1 - confidence, 2 * len(others))
    findings = []
    for index in others:
        count = min(len(logs[index]), len(logs[reference]))
        positions = history.seqs(reference)[:count], history.seqs(index)[:count]
        instructions, rate = (
            _compare(logs[reference][:count, column], logs[index][:count, column], positions, alpha)
            for column in (0, 1)
        )
        numbers = {
            "reference": names[reference],
            "instructions": _ends(instructions),
            "rate": _ends(rate),
            "confidence": confidence,
            "pairs": count,
        }
        findings.append(finding("instructions", numbers, names[index]))
    return tuple(findings)


def _counter_columns(workload: Workload) -> tuple[int, int] | None:
    specs = [metric.spec for metric in workload.metrics]
    return (specs.index(INSTRUCTIONS), specs.index(CYCLES)) if {INSTRUCTIONS, CYCLES} <= set(specs) else None


def _logarithms(printed: Printed, seqs: Positions, places: tuple[int, int]) -> Floats:
    """Return logarithms of instructions and of instructions per cycle, shape (rounds, 2), in order of the rounds."""
    rows = by_round(printed, seqs)
    with np.errstate(divide="ignore"):
        count, cycles = np.log(rows[:, places[0]]), np.log(rows[:, places[1]])
    return np.stack([count, np.where(np.isfinite(cycles), count - cycles, -np.inf)], axis=1)


def _compare(first: Floats, second: Floats, positions: tuple[Positions, Positions], alpha: float) -> PairedEstimate:
    return RepeatedPairs(alpha).look(first, second, *positions, 1.0)


def _ends(estimate: PairedEstimate) -> list[float | None]:
    """Return estimate and interval as fractions; None for an end that is not known."""
    values = (estimate.estimate, estimate.low, estimate.high)
    return [float(np.expm1(value)) if np.isfinite(value) and value < 700 else None for value in values]
