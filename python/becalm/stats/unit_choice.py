"""The choice of a configuration for a machine that has not been measured.

Machines (or days, or sessions) are the units: a configuration has one value on each, the mean of any number of runs. A
configuration that differs much between machines is a lottery on the next one. So the best mean is chosen among those
that differ little, and its promise is a prediction for a further unit (Hahn & Meeker 1991, Statistical
Intervals, 4.7). Spreads from few units are moderated by those of the other configurations (`becalm.stats.moderation`).

The constants were chosen on half of the runs of TUNA (Freischuetz et al., EuroSys 2025; `bench/replay.py`), whose own
rule is the best of the worst of five machines.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from becalm.stats.arrays import Floats
from becalm.stats.moderation import PEERS, Prior, moderate, prior_of
from becalm.stats.student import stdtrit

STEADY = 0.08
"""The standard deviation of logarithms from unit to unit up to which a configuration counts as steady."""

SURE = 0.99
"""The probability with which a further unit reaches at least the promise."""

FIRST = 2
"""The number of units on which every configuration is measured."""

FINALISTS = 4
"""The number of configurations that are measured on all units."""

COMPLETE = 0.75
"""The share of the units of the best-measured configuration that another one needs to be compared with it."""

_MOST_PRIOR = 20.0
"""The most degrees of freedom of the others: configurations differ in their spread more than benchmarks do."""


class OverUnits(msgspec.Struct, frozen=True):
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
        """Whether the configuration gave a value on every unit, and these differ little."""
        return self.failed == 0 and self.spread <= STEADY


class UnitChoice(msgspec.Struct, frozen=True):
    """The configuration to take, and all of them, the best mean first.

    `chosen`: None where none has values on two units without a failure. `rivals`: indices of configurations that are
    steady, too, and not shown to be worse than the chosen one.
    """

    chosen: OverUnits | None
    configurations: tuple[OverUnits, ...]
    rivals: tuple[int, ...]


def choose(table: Floats) -> UnitChoice:
    """Return the choice among configurations measured on units.

    Arguments:
        table: logarithms of values of which more is better, shape (configurations, units); NaN where a configuration
            was not measured, -inf where it failed.

    Only configurations on nearly as many units as any (COMPLETE) are compared: the others were left out on purpose, and
    their means are of other machines. Raises ValueError for a table without values.
    """
    is_measured = ~np.isnan(table)
    if not is_measured.any():
        raise ValueError("The table has no value.")
    prior = _prior(table)
    configurations = tuple(
        _over(index, row[has_value], prior)
        for index, (row, has_value) in enumerate(zip(table, is_measured, strict=True))
    )
    most = max(configuration.units for configuration in configurations)
    final = [
        configuration
        for configuration in configurations
        if configuration.units >= max(FIRST, COMPLETE * most) and configuration.failed == 0
    ]
    order = tuple(sorted(configurations, key=lambda configuration: (-configuration.mean, configuration.index)))
    if not final:
        return UnitChoice(None, order, ())
    steady = [configuration for configuration in final if configuration.steady]
    chosen = (
        max(steady, key=lambda configuration: configuration.mean)
        if steady
        else min(final, key=lambda configuration: configuration.spread)
    )
    others = (configuration for configuration in steady if configuration is not chosen)
    rivals = tuple(other.index for other in others if _may_be_as_good(table, chosen, other, prior, len(final)))
    return UnitChoice(chosen, order, rivals)


def next_units(table: Floats) -> list[tuple[int, int]]:
    """Return the next measurements, pairs of configuration and unit: each on FIRST units, then FINALISTS on all.

    Empty when all is measured. `table` as of `choose`; its columns are all units, in the order of their use.
    """
    is_measured = ~np.isnan(table)
    first = min(FIRST, table.shape[1])
    first_cells = [
        (index, int(unit))
        for index, has_value in enumerate(is_measured)
        for unit in np.flatnonzero(~has_value)[: max(0, first - int(has_value.sum()))]
    ]
    if first_cells:
        return sorted(first_cells, key=lambda cell: (cell[1], cell[0]))
    prior = _prior(table)
    configurations = [_over(index, row[~np.isnan(row)], prior) for index, row in enumerate(table)]
    # A configuration measured on more than two units is a finalist already, whatever the result.
    order = sorted(
        (configuration for configuration in configurations if configuration.failed == 0),
        key=lambda configuration: (configuration.units <= FIRST, -configuration.mean, configuration.index),
    )
    final = sorted(order[:FINALISTS], key=lambda configuration: (-configuration.mean, configuration.index))
    cells = [
        (configuration.index, unit)
        for configuration in final
        for unit in range(table.shape[1])
        if not is_measured[configuration.index, unit]
    ]
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
    half_width = stdtrit(freedom, SURE) * math.sqrt(variance * (1 + 1 / count))
    return OverUnits(index, count, mean, math.sqrt(variance), mean - half_width, worst, 0)


def _may_be_as_good(table: Floats, chosen: OverUnits, other: OverUnits, prior: Prior, rows: int) -> bool:
    """Return whether another one may be as good: Student's t of the units that both have, Bonferroni over all rows."""
    differences = table[chosen.index] - table[other.index]
    differences = differences[np.isfinite(differences)]
    if len(differences) < FIRST:
        return True
    # The difference of two that are independent has twice the variance of one.
    variance, freedom = moderate(
        float(differences.var(ddof=1)), len(differences) - 1, Prior(2 * prior.value, prior.freedom)
    )
    error = math.sqrt(variance / len(differences))
    return float(differences.mean()) <= stdtrit(freedom, 1 - 0.05 / max(1, rows - 1)) * error
