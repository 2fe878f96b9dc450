"""The functions in which the difference of two programs lies, from the profiles of several runs.

Public: by_counts, by_samples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from becalm.files.function_profile import Function
from becalm.results.where import FunctionDifference, Presence, Source, Where
from becalm.stats.arrays import Floats
from becalm.stats.multiplicity import benjamini_hochberg
from becalm.stats.student import stdtr, stdtrit

RATE = 0.05
"""The expected share of named functions that do not differ."""

MOST = 10
"""The number of functions that a result lists."""

FEWEST_SAMPLES = 20
"""The fewest samples in all runs for which a function is tested: fewer cannot show anything, and reduce the power for
others."""

SMALLEST = 1e-5
"""The smallest share of all instructions that is named."""

SURE = 3.0
"""The factor by which a difference of counts must exceed the largest spread of any function between equal runs."""

Profile = Mapping[Function, float]


def by_samples(names: tuple[str, str], old: Sequence[Profile], new: Sequence[Profile], period_s: float) -> Where:
    """Return the functions that take more or less CPU time, from samples in runs that took turns.

    `old`, `new`: seconds by function of the runs of each round, at least two rounds; `period_s`: typical time between
    two samples. The differences of the rounds are tested by Student's t, and the functions named with a false discovery
    rate of RATE (Benjamini & Hochberg 1995). The intervals of named functions miss the truth with the same rate
    (Benjamini & Yekutieli 2005, J. Am. Stat. Assoc. 100:71).
    """
    functions = sorted({function for profile in (*old, *new) for function in profile})
    first, second = _table(functions, old), _table(functions, new)
    rounds = len(first)
    total = float(first.sum(axis=1).mean()) or 1.0
    change = second - first
    mean = change.mean(axis=0)
    # A few rounds may agree by chance: half of a Poisson count's variance is the least.
    variance = np.maximum(change.var(axis=0, ddof=1), (first + second).mean(axis=0) * period_s / 2)
    error = np.sqrt(variance / rounds)
    tested = (first + second).sum(axis=0) >= FEWEST_SAMPLES * period_s
    p_values = np.array(
        [
            2 * stdtr(rounds - 1, -abs(shift) / width) if test and width > 0 else math.nan
            for shift, width, test in zip(mean.tolist(), error.tolist(), tested.tolist(), strict=True)
        ]
    )
    named = np.nan_to_num(benjamini_hochberg(p_values), nan=1.0) <= RATE
    level = RATE * max(1, int(named.sum())) / max(1, int(tested.sum()))
    half_width = stdtrit(rounds - 1, 1 - level / 2) * error
    rows = [
        _row(
            function,
            (float(first[:, place].mean()), float(second[:, place].mean())),
            (mean[place] / total, (mean[place] - half_width[place]) / total, (mean[place] + half_width[place]) / total),
            named=bool(named[place]),
        )
        for place, function in enumerate(functions)
    ]
    totals = total, float(second.sum(axis=1).mean())
    return _where(Source.SAMPLES, names, rows, totals, rounds, RATE)


def by_counts(names: tuple[str, str], old: Sequence[Profile], new: Sequence[Profile]) -> Where:
    """Return the functions that execute more or fewer instructions, from exact counts of several runs of each program.

    A function is named when all counts of one program are above all counts of the other by more than SURE times the
    largest spread of any function between runs of one program, and by more than SMALLEST of all instructions.
    """
    functions = sorted({function for profile in (*old, *new) for function in profile})
    first, second = _table(functions, old), _table(functions, new)
    total = float(first.sum(axis=1).mean()) or 1.0
    spread = float(max(np.ptp(first, axis=0).max(initial=0), np.ptp(second, axis=0).max(initial=0)))
    least = max(SURE * spread, SMALLEST * total)
    low, high = second.min(axis=0) - first.max(axis=0), second.max(axis=0) - first.min(axis=0)
    rows = [
        _row(
            function,
            (float(first[:, place].mean()), float(second[:, place].mean())),
            (
                float(second[:, place].mean() - first[:, place].mean()) / total,
                float(low[place]) / total,
                float(high[place]) / total,
            ),
            named=bool(low[place] > least or high[place] < -least),
        )
        for place, function in enumerate(functions)
    ]
    return _where(Source.COUNTS, names, rows, (total, float(second.sum(axis=1).mean())), len(first), 0.0)


def _table(functions: Sequence[Function], profiles: Sequence[Profile]) -> Floats:
    """Return the time or count of each function in each run, shape (runs, functions)."""
    return np.array([[profile.get(function, 0) for function in functions] for profile in profiles], dtype=np.float64)


def _row(
    function: Function, means: tuple[float, float], shares: tuple[float, float, float], *, named: bool
) -> FunctionDifference:
    (name, code), (old, new), (share, low, high) = function, means, map(float, shares)
    presence = Presence.APPEARED if not old else Presence.DISAPPEARED if not new else Presence.BOTH
    return FunctionDifference(name, code, old, new, share, low, high, named, presence)


def _where(
    source: Source,
    names: tuple[str, str],
    rows: Sequence[FunctionDifference],
    totals: tuple[float, float],
    runs: int,
    rate: float,
) -> Where:
    ordered = sorted(rows, key=lambda row: (not row.named, -abs(row.share)))
    listed_rows = [row for row in ordered[:MOST] if row.share]
    rest = ordered[len(listed_rows) :]
    others = len(rest), float(sum(row.share for row in rest))
    return Where(source, *names, runs, totals, tuple(listed_rows), others, rate)
