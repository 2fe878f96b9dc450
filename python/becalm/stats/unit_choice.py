"""The choice of a configuration for a machine that nobody has measured.

Machines (or days, or sessions) are the units: a configuration has one value on each, however many runs that is a mean
of. A configuration whose machines differ much is a lottery on the next one, so the best mean is taken among those that
differ little, and what it promises is a prediction for a further unit (Hahn & Meeker 1991, Statistical Intervals, 4.7).
Spreads from few units are moderated by those of the other configurations (`becalm.stats.moderation`).

Chosen on half of the runs of TUNA (Freischuetz et al., EuroSys 2025; `bench/replay.py`), whose own rule is the best of
the worst of five machines.
"""

from __future__ import annotations

import math

import numpy as np

from becalm.stats.arrays import Floats
from becalm.stats.moderation import PEERS, Prior, moderate, prior_of
from becalm.stats.student import stdtrit
from becalm.values import dataclass

STEADY = 0.08
"""Standard deviation of logarithms from unit to unit up to which a configuration counts as steady."""

SURE = 0.99
"""Probability with which a further unit reaches at least what is promised."""

FIRST = 2
"""Units that every configuration is measured on."""

FINALISTS = 4
"""Configurations that are measured on all units."""

COMPLETE = 0.75
"""Share of the units of the best-measured configuration that another one needs to be compared with it."""

_MOST_PRIOR = 20.0
"""Degrees of freedom of the others, at most: configurations differ in their spread more than benchmarks do."""


@dataclass(frozen=True, slots=True)
class OverUnits:
    """A configuration over the units it was measured on, in logarithms of a value of which more is better.

    `spread`: standard deviation from unit to unit, as moderated; NaN below two units. `promise`: what a further unit
    reaches with probability SURE; -inf below two. `failed`: units on which it gave no value.
    """

    index: int
    units: int
    mean: float
    spread: float
    promise: float
    worst: float
    failed: int

    @property
    def steady(self) -> bool:
        """Whether it gave a value on every unit, and these differ little."""
        return self.failed == 0 and self.spread <= STEADY


@dataclass(frozen=True, slots=True)
class UnitChoice:
    """The configuration to take, and all of them, the best mean first.

    `chosen`: None where none has values on two units without a failure. `rivals`: indices of configurations that are
    steady, too, and not shown to be worse than the chosen one.
    """

    chosen: OverUnits | None
    configurations: tuple[OverUnits, ...]
    rivals: tuple[int, ...]


def choose(table: Floats) -> UnitChoice:
    """Choose among configurations measured on units.

    Arguments:
        table: logarithms of values of which more is better, shape (configurations, units); NaN where a configuration
            was not measured, -inf where it failed.

    Only configurations on nearly as many units as any (COMPLETE) are compared: the others were left behind on purpose,
    and their means are of other machines. Raises ValueError for a table without values.
    """
    there = ~np.isnan(table)
    if not there.any():
        raise ValueError("The table has no value.")
    prior = _prior(table)
    found = tuple(_over(index, row[known], prior) for index, (row, known) in enumerate(zip(table, there, strict=True)))
    most = max(each.units for each in found)
    final = [each for each in found if each.units >= max(FIRST, COMPLETE * most) and each.failed == 0]
    order = tuple(sorted(found, key=lambda each: (-each.mean, each.index)))
    if not final:
        return UnitChoice(None, order, ())
    steady = [each for each in final if each.steady]
    chosen = max(steady, key=lambda each: each.mean) if steady else min(final, key=lambda each: each.spread)
    others = (each for each in steady if each is not chosen)
    rivals = tuple(other.index for other in others if _may_be_as_good(table, chosen, other, prior, len(final)))
    return UnitChoice(chosen, order, rivals)


def next_units(table: Floats) -> list[tuple[int, int]]:
    """Return what to measure next, pairs of configuration and unit: each on FIRST units, then FINALISTS on all.

    Empty where that is done. `table` as of `choose`; its columns are all units there are, in the order of their use.
    """
    there = ~np.isnan(table)
    first = min(FIRST, table.shape[1])
    begin = [
        (index, int(unit))
        for index, known in enumerate(there)
        for unit in np.flatnonzero(~known)[: max(0, first - int(known.sum()))]
    ]
    if begin:
        return sorted(begin, key=lambda cell: (cell[1], cell[0]))
    prior = _prior(table)
    begun = [_over(index, row[~np.isnan(row)], prior) for index, row in enumerate(table)]
    # Who was measured on more than two units is a finalist already, whatever that has shown.
    order = sorted(
        (each for each in begun if each.failed == 0), key=lambda each: (each.units <= FIRST, -each.mean, each.index)
    )
    final = sorted(order[:FINALISTS], key=lambda each: (-each.mean, each.index))
    cells = [(each.index, unit) for each in final for unit in range(table.shape[1]) if not there[each.index, unit]]
    return sorted(cells, key=lambda cell: cell[1])


def _prior(table: Floats) -> Prior:
    rows = [row[~np.isnan(row)] for row in table]
    rows = [row for row in rows if len(row) > 1 and np.isfinite(row).all() and row.min() < row.max()]
    if len(rows) < PEERS:
        return Prior()
    prior = prior_of([float(row.var(ddof=1)) for row in rows], [len(row) - 1 for row in rows])
    return Prior(prior.value, min(prior.freedom, _MOST_PRIOR))


def _over(index: int, values: Floats, prior: Prior) -> OverUnits:
    count, failed = len(values), int(np.isneginf(values).sum())
    if count == 0 or failed:
        return OverUnits(index, count, -math.inf, math.nan, -math.inf, -math.inf, failed)
    mean, worst = float(values.mean()), float(values.min())
    if count < FIRST:
        return OverUnits(index, count, mean, math.nan, -math.inf, worst, 0)
    variance, freedom = moderate(float(values.var(ddof=1)), count - 1, prior)
    reach = stdtrit(freedom, SURE) * math.sqrt(variance * (1 + 1 / count))
    return OverUnits(index, count, mean, math.sqrt(variance), mean - reach, worst, 0)


def _may_be_as_good(table: Floats, chosen: OverUnits, other: OverUnits, prior: Prior, rows: int) -> bool:
    """Return whether another one may be as good: Student's t of the units that both have, Bonferroni over all rows."""
    ahead = table[chosen.index] - table[other.index]
    ahead = ahead[np.isfinite(ahead)]
    if len(ahead) < FIRST:
        return True
    # The difference of two that are independent has twice the variance of one.
    variance, freedom = moderate(float(ahead.var(ddof=1)), len(ahead) - 1, Prior(2 * prior.value, prior.freedom))
    error = math.sqrt(variance / len(ahead))
    return float(ahead.mean()) <= stdtrit(freedom, 1 - 0.05 / max(1, rows - 1)) * error
