"""Values of a limited resolution: ties are spread over the rounding interval, and counted cell by cell.

A clock that ticks, or a tool that prints three digits, turns any distribution into a row of spikes. The spikes are not
modes: the distribution between two neighbouring values of the grid is unknown.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, distinct
from becalm.stats.student import betainc

AROUND = 5
"""The number of distances on either side of a value whose smallest is the resolution there; it may change along the
axis, as for tools that print a fixed number of digits."""

MOST_CELLS = 60
"""The most cells of a grid whose single counts show more than intervals do."""

_OFF_GRID = 0.1
"""The largest distance of a value from its cell, in cells, which allows for rounding of decimal numbers."""


def spread_ties(ordered: Floats) -> Floats:
    """Return the values with equal ones spread evenly over the cell that they were rounded to.

    A cell is as wide as the smallest distance of neighbouring values around it. `ordered`: increasing, shape (n,).
    """
    different, counts = distinct(ordered)
    if len(different) in (1, len(ordered)):
        return ordered
    gaps = np.pad(np.diff(different), AROUND, constant_values=np.inf)
    widths = np.lib.stride_tricks.sliding_window_view(gaps, 2 * AROUND).min(axis=1)
    size = np.repeat(counts, counts)
    rank = np.arange(len(ordered)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(ordered + np.repeat(widths, counts) * ((rank + 0.5) / size - 0.5))


class Grid(msgspec.Struct, frozen=True):
    """Counts of values, shape (cells,), at `first`, `first` + `step`, …"""

    first: float
    step: float
    counts: npt.NDArray[np.int64]


def grid(ordered: Floats) -> Grid | None:
    """Return the grid that values lie on; None if it has more than MOST_CELLS cells, or without ties.

    `ordered`: increasing, shape (n,), not all equal.
    """
    different, _ = distinct(ordered)
    if len(different) > min(MOST_CELLS, len(ordered) // 2):
        return None
    step = float(np.diff(different).min())
    places = (ordered - ordered[0]) / step
    cells = np.rint(places)
    if cells[-1] >= MOST_CELLS or float(np.abs(places - cells).max()) > _OFF_GRID:
        return None
    return Grid(float(ordered[0]), step, np.bincount(cells.astype(np.int64)))


def valley(counted_grid: Grid, independent: float) -> tuple[float, float]:
    """Test whether a cell has fewer values than one before it and one after it; return p value, and middle of the cell.

    With a single mode any cell between two others is at least as likely as one of these, so its count is binomial with
    a probability of 1/2 or more; the p value is the larger of both, times the number of triples of cells (Bonferroni).
    `independent`: the share of the values that are independent, by which counts are multiplied.
    """
    counts = counted_grid.counts * independent
    cells = len(counts)
    if cells < 3:
        return 1.0, counted_grid.first
    sides = np.minimum(np.maximum.accumulate(counts)[:-2], np.maximum.accumulate(counts[::-1])[::-1][2:])
    # P(X <= low) of a binomial X of low + high values with probability 1/2 is this incomplete beta function.
    pairs = zip(counts[1:-1], sides, strict=True)
    tails = [betainc(float(side), float(low) + 1, 0.5) if side > low else 1.0 for low, side in pairs]
    lowest = int(np.argmin(tails))
    triples = cells * (cells - 1) * (cells - 2) / 6
    return min(1.0, tails[lowest] * triples), counted_grid.first + (lowest + 1) * counted_grid.step
