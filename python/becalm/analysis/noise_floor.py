"""The noise floor of a machine from repeated runs of one fixed piece of work: functions of arrays, no machine."""

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

PROGRAM_NS = 20e6
"""The length of the programs in "a difference of … would be seen": typical of what people compare."""

BUDGET_S = 30.0
"""The default budget of `compare`."""

FEWEST = 20
"""Runs, and pairs, below which nothing is said about correlation and detectable differences."""


def noise(
    wall_ns: npt.ArrayLike,
    cpu_ns: npt.ArrayLike,
    wait_ns: npt.ArrayLike,
    gap_ns: float,
    elapsed_s: float,
    stolen_others: tuple[float | None, float | None] = (None, None),
) -> Noise:
    """Summarise runs of the fixed kernel, all arrays of shape (n,) in the order of running, in ns.

    `cpu_ns` and `wait_ns` hold NaN where unknown. `gap_ns`: time between the end of a run and the start of the next.
    `stolen_others`: what `stolen_and_others` found. Raises ValueError for an empty series or wall times that are not
    finite.
    """
    wall = series(wall_ns, "The series of run times")
    cpu = np.asarray(cpu_ns, dtype=np.float64)
    waited = np.asarray(wait_ns, dtype=np.float64)
    summary = describe(wall)
    varied = len(wall) >= FEWEST and float(wall.min()) < float(wall.max())
    return Noise(
        runs=len(wall),
        elapsed_s=elapsed_s,
        median_ns=summary.median,
        cv=summary.cv,
        robust_cv=summary.robust_cv,
        lag_one=float(correlations(np.log(wall))[1]) if varied else None,
        worst=summary.maximum / summary.median - 1.0,
        wait_share=None if np.isnan(waited).any() else float(waited.sum() / wall.sum()),
        processor_share=_squared_correlation(wall, cpu) if varied else None,
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
    """The difference that `compare` would call with probability 0.8 within the budget, as a fraction.

    Consecutive runs are put together to pseudo-programs of about `program_ns`, neighbours to pairs, in random order as
    compare does; the estimator of compare gives the standard error for the pairs there are, and the root of the number
    of pairs scales it to the budget. None below 20 pairs.
    """
    together = max(1, round(program_ns / median_of(wall_ns)))
    programs = len(wall_ns) // together
    pairs = programs // 2
    if pairs < FEWEST:
        return None
    times = np.log(wall_ns[: programs * together].reshape(programs, together).sum(axis=1))[: 2 * pairs]
    # Fixed seed: the same runs give the same answer.
    first = np.random.default_rng(0).integers(0, 2, pairs)
    at = 2 * np.arange(pairs)
    reference, candidate = at + first, at + 1 - first
    estimate = RepeatedPairs().look(times[reference], times[candidate], reference, candidate, 1.0)
    in_budget = budget_s * 1e9 / (2 * (program_ns + gap_ns))
    return math.expm1(estimate.detectable * math.sqrt(pairs / in_budget))


def stolen_and_others(loads: Sequence[Load], runs: Sequence[Run]) -> tuple[float | None, float | None]:
    """Share of all CPU time stolen by the hypervisor, and CPUs kept busy by other programs, during these runs.

    `loads`: the records around all of them, warm-ups included. What is not known of any of them is None, not zero.
    """
    if not loads:
        return None, None
    load = pooled(loads)
    own_ns, busy = own_cpu_ns(runs, load), (load.busy_ns, load.irq_ns, load.softirq_ns)
    if own_ns is None or None in busy or load.interval_ns <= 0:
        others = None
    else:
        others = max(0.0, (sum(each or 0 for each in busy) - own_ns) / load.interval_ns)
    return find("steal").of(load), others


def overhead(bare_ns: npt.ArrayLike, own_ns: npt.ArrayLike) -> Overhead:
    """What a measured run costs more than a bare one; shape (n,) each, measured in turn, ns.

    Differences within a pair: both saw the same state of the machine. Raises ValueError for series that are empty or
    not equally long.
    """
    bare, own = series(bare_ns, "The bare costs"), series(own_ns, "The own costs")
    if len(bare) != len(own):
        raise ValueError(f"{len(bare)} bare costs and {len(own)} own ones cannot be paired.")
    low, middle, high = (float(q) for q in np.quantile(own - bare, (0.25, 0.5, 0.75)))
    return Overhead(len(bare), median_of(bare), middle, low, high)
