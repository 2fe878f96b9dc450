"""The noise floor of a machine from repeated runs of one fixed piece of work: functions of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from becalm.load.background_load import own_cpu_ns
from becalm.load.metrics import find
from becalm.load.record import Load, pooled
from becalm.nouns.run import Run
from becalm.results.doctor import Noise, Overhead
from becalm.stats.arrays import Floats, median_of, series
from becalm.stats.describe import describe
from becalm.stats.effective_sample_size import correlations
from becalm.stats.paired import RepeatedPairs
from becalm.stats.power import detectable_in_pairs

PROGRAM_NS = 20e6
"""The length of the programs for which a detectable difference is stated, typical of programs that people compare."""

BUDGET_S = 30.0
"""The default budget of `compare`."""

FEWEST = 20
"""The fewest runs, and pairs, from which correlation and detectable differences are computed."""


def noise(
    wall_ns: npt.ArrayLike,
    cpu_ns: npt.ArrayLike,
    wait_ns: npt.ArrayLike,
    gap_ns: float,
    elapsed_s: float,
    stolen_others: tuple[float | None, float | None] = (None, None),
) -> Noise:
    """Return the noise in runs of the fixed kernel; arrays have shape (n,), in the order of running, in ns.

    `cpu_ns` and `wait_ns` hold NaN where unknown. `gap_ns`: time between the end of a run and the start of the next.
    `stolen_others`: the result of `stolen_and_others`. Raises ValueError for an empty series or wall times that are not
    finite.
    """
    wall = series(wall_ns, "The series of run times")
    cpu = np.asarray(cpu_ns, dtype=np.float64)
    waited = np.asarray(wait_ns, dtype=np.float64)
    summary = describe(wall)
    has_variation = len(wall) >= FEWEST and float(wall.min()) < float(wall.max())
    return Noise(
        runs=len(wall),
        elapsed_s=elapsed_s,
        median_ns=summary.median,
        cv=summary.cv,
        robust_cv=summary.robust_cv,
        lag_one=float(correlations(np.log(wall))[1]) if has_variation else None,
        worst=summary.maximum / summary.median - 1.0,
        wait_share=None if np.isnan(waited).any() else float(waited.sum() / wall.sum()),
        processor_share=_squared_correlation(wall, cpu) if has_variation else None,
        steal_share=stolen_others[0],
        others_cpus=stolen_others[1],
        detectable=detectable(wall, gap_ns),
        program_ns=PROGRAM_NS,
        budget_s=BUDGET_S,
    )


def _squared_correlation(wall: Floats, cpu: Floats) -> float | None:
    if np.isnan(cpu).any() or float(cpu.min()) == float(cpu.max()):
        return None
    return float(np.corrcoef(wall, cpu)[0, 1] ** 2)


def detectable(
    wall_ns: Floats, gap_ns: float, program_ns: float = PROGRAM_NS, budget_s: float = BUDGET_S
) -> float | None:
    """Return the difference that `compare` would detect with probability 0.8 within the budget, as a fraction.

    Consecutive runs, wall times of shape (n,) in ns, are joined to pseudo-programs of about `program_ns`, and
    neighbours to pairs in random order, as compare does. The estimator of compare gives the standard error for these
    pairs, and the square root of the number of pairs scales it to the budget. None below 20 pairs.
    """
    runs_of_program = max(1, round(program_ns / median_of(wall_ns)))
    programs = len(wall_ns) // runs_of_program
    pairs = programs // 2
    if pairs < FEWEST:
        return None
    times = np.log(wall_ns[: programs * runs_of_program].reshape(programs, runs_of_program).sum(axis=1))[: 2 * pairs]
    # Fixed seed: the same runs give the same answer.
    first = np.random.default_rng(0).integers(0, 2, pairs)
    start = 2 * np.arange(pairs)
    reference, candidate = start + first, start + 1 - first
    estimate = RepeatedPairs().look(times[reference], times[candidate], reference, candidate, 1.0)
    pairs_in_budget = budget_s * 1e9 / (2 * (program_ns + gap_ns))
    error = estimate.standard_error * math.sqrt(pairs / pairs_in_budget)
    return math.expm1(detectable_in_pairs(error, estimate.critical, pairs_in_budget))


def stolen_and_others(loads: Sequence[Load], runs: Sequence[Run]) -> tuple[float | None, float | None]:
    """Return the share of CPU time stolen by the hypervisor, and the number of CPUs kept busy by other programs.

    `loads`: the records around all runs, warm-ups included. A value that is unknown for any of them is None, not zero.
    """
    if not loads:
        return None, None
    load = pooled(loads)
    own_ns, busy = own_cpu_ns(runs, load), (load.busy_ns, load.irq_ns, load.softirq_ns)
    if own_ns is None or None in busy or load.interval_ns <= 0:
        others = None
    else:
        others = max(0.0, (sum(part or 0 for part in busy) - own_ns) / load.interval_ns)
    return find("steal").of(load), others


def overhead(bare_ns: npt.ArrayLike, own_ns: npt.ArrayLike) -> Overhead:
    """Return the additional cost of a measured run over a bare one, in ns; the arrays, shape (n,), are measured in
    turn.

    The differences are within pairs, whose runs saw the same state of the machine. Raises ValueError for series that
    are empty or not equally long.
    """
    bare, measured = series(bare_ns, "The bare costs"), series(own_ns, "The own costs")
    if len(bare) != len(measured):
        raise ValueError(f"{len(bare)} bare costs and {len(measured)} own ones cannot be paired.")
    low, middle, high = (float(q) for q in np.quantile(measured - bare, (0.25, 0.5, 0.75)))
    return Overhead(len(bare), median_of(bare), middle, low, high)
