"""More instructions or slower ones: what two counters say of a difference between programs. Pure.

The time of a program is its instructions over their rate: log(time) = log(instructions) - log(instructions per cycle) -
log(frequency). Both terms that a program can do something about are compared like times, in the same pairs.

Public: of_counters.
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


def of_counters(
    names: Sequence[str],
    workloads: Sequence[Workload],
    history: History,
    metrics: Callable[[int], Printed],
    reference: int,
    confidence: float,
) -> tuple[Finding, ...]:
    """A finding for each program that was compared with the reference; none where one of the counters is not there.

    `metrics`: of a program's number the runs in order by `seq`, (runs,), and their metrics, (runs, metrics).
    """
    places = [_places(workload) for workload in workloads]
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
    found = []
    for index in others:
        count = min(len(logs[index]), len(logs[reference]))
        at = history.seqs(reference)[:count], history.seqs(index)[:count]
        more, rate = (_compared(logs[reference][:count, of], logs[index][:count, of], at, alpha) for of in (0, 1))
        numbers = {
            "reference": names[reference],
            "instructions": _ends(more),
            "rate": _ends(rate),
            "confidence": confidence,
            "pairs": count,
        }
        found.append(finding("instructions", numbers, names[index]))
    return tuple(found)


def _places(workload: Workload) -> tuple[int, int] | None:
    specs = [metric.spec for metric in workload.metrics]
    return (specs.index(INSTRUCTIONS), specs.index(CYCLES)) if {INSTRUCTIONS, CYCLES} <= set(specs) else None


def _logarithms(printed: Printed, seqs: Positions, places: tuple[int, int]) -> Floats:
    """Logarithms of instructions and of instructions per cycle, shape (rounds, 2), in order of the rounds."""
    rows = by_round(printed, seqs)
    with np.errstate(divide="ignore"):
        count, cycles = np.log(rows[:, places[0]]), np.log(rows[:, places[1]])
    return np.stack([count, np.where(np.isfinite(cycles), count - cycles, -np.inf)], axis=1)


def _compared(first: Floats, second: Floats, at: tuple[Positions, Positions], alpha: float) -> PairedEstimate:
    return RepeatedPairs(alpha).look(first, second, *at, 1.0)


def _ends(estimate: PairedEstimate) -> list[float | None]:
    """Estimate and interval as fractions; None for an end that is not known."""
    values = (estimate.estimate, estimate.low, estimate.high)
    return [float(np.expm1(value)) if np.isfinite(value) and value < 700 else None for value in values]
