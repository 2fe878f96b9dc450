"""The test for two humps in a series of run times."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, distinct, median_of, series
from becalm.stats.effective_sample_size import effective_size
from becalm.stats.normal_scores import normal_scores
from becalm.stats.resolution import grid, spread_ties, valley

LEVEL = 0.01
FEWEST = 20

CELL_SHARE = 0.2
"""The share of the level for an emptier cell, where values lie on a grid: its p value falls fast, so this costs
little."""

MOST = 2000
"""The most values that are used; longer series are represented by as many quantiles, with the same result in less
time."""


class Modes(msgspec.Struct, frozen=True):
    """The result of the test: medians `low` and `high` on either side of the valley, and the share of values below
    it."""

    detected: bool
    low: float
    high: float
    low_share: float
    excess: float
    p_value: float


def bimodal(x: npt.ArrayLike) -> Modes:
    """Test one mode against two by the excess mass (Müller & Sawitzki 1991, J. Am. Stat. Assoc. 86:738).

    The statistic is twice Hartigan's dip (1985, Ann. Stat. 13:70). Its distribution is that for a uniform sample, the
    least favourable single hump, of the effective size of the series: a slow oscillation must not look like two states.
    Equal values are spread over the cell that they were rounded to. Where values lie on a grid of few cells, a cell
    that is emptier than both sides is tested, too (`becalm.stats.resolution.valley`), and both tests share the level.
    Raises ValueError for an empty series or one that is not finite.
    """
    values = series(x, "The series of times")
    count = len(values)
    middle = median_of(values)
    if count < FEWEST or values.min() == values.max():
        return Modes(False, middle, middle, 1.0, 0.0, 1.0)
    ordered = np.sort(values)
    worth = effective_size(normal_scores(values))
    excess, between = excess_mass(_thin(spread_ties(ordered)))
    p_value = tail(excess / _cell_factor(ordered), worth)
    if cells := grid(ordered):
        by_cells, middle_cell = valley(cells, worth / count)
        p_value, by_cells = min(1.0, p_value / (1 - CELL_SHARE)), min(1.0, by_cells / CELL_SHARE)
        if by_cells < p_value:
            p_value, between = by_cells, middle_cell
    below, above = values[values <= between], values[values > between]
    return Modes(
        p_value < LEVEL,
        median_of(below) if len(below) else middle,
        median_of(above) if len(above) else middle,
        len(below) / count,
        excess,
        p_value,
    )


def _thin(ordered: Floats) -> Floats:
    count = len(ordered)
    return ordered if count <= MOST else ordered[np.linspace(0, count - 1, MOST).round().astype(np.intp)]


def _cell_factor(ordered: Floats) -> float:
    """Return the largest ratio of the excess of rounded uniform values to that of uniform values.

    Simulated with 40 to 400 values in 3 to 80 cells, at a probability of 1 %: 0.72 for 3 cells, 0.83 for 6, 0.95 for
    20.
    """
    gaps = np.diff(ordered)
    if gaps.min() > 0:
        return 1.0
    return 1 - 0.8 / (1 + float(ordered[-1] - ordered[0]) / float(gaps[gaps > 0].min()))


class _Interval(msgspec.Struct, frozen=True):
    """The interval with the largest mass - lambda * length."""

    mass: float
    length: float


def excess_mass(ordered: Floats) -> tuple[float, float]:
    """Return the largest gain of two intervals over one, over all lambda, and the valley between the two.

    E_m(lambda) is the largest sum of mass - lambda * length over m disjoint intervals. E_2 - E_1 is convex wherever E_1
    is linear, so its largest value is at a corner of E_1; the corners are found by intersecting the lines at both ends
    of each piece (Eisner & Severance 1976, J. ACM 23:619). `ordered`: increasing, not all equal, shape (n,).
    """
    count = len(ordered)
    longest = _Interval(1.0, float(ordered[-1] - ordered[0]))
    _, ties = distinct(ordered)
    point = _Interval(float(ties.max()) / count, 0.0)
    best, valley = 0.0, float(ordered[0])
    pieces = [(longest, point)]
    while pieces:
        flat, steep = pieces.pop()
        if flat.length <= steep.length:
            continue
        lam = (flat.mass - steep.mass) / (flat.length - steep.length)
        single, interval, double, split = _largest(ordered, lam)
        if double - single > best:
            best, valley = double - single, split
        if single > flat.mass - lam * flat.length + 1e-12 and steep.length < interval.length < flat.length:
            pieces += [(flat, interval), (interval, steep)]
    return best, valley


def _largest(ordered: Floats, lam: float) -> tuple[float, _Interval, float, float]:
    """Return E_1 with its interval, E_2, and the middle of the gap between the two intervals of E_2."""
    count = len(ordered)
    steps = np.arange(count + 1) / count
    upper, lower = steps[1:] - lam * ordered, steps[:-1] - lam * ordered
    ending = upper - np.minimum.accumulate(lower)
    starting = np.maximum.accumulate(upper[::-1])[::-1] - lower
    last = int(np.argmax(ending))
    first = int(np.argmin(lower[: last + 1]))
    single = float(ending[last])
    interval = _Interval((last - first + 1) / count, float(ordered[last] - ordered[first]))
    left, right = np.maximum.accumulate(ending), np.maximum.accumulate(starting[::-1])[::-1]
    pair_masses = left[:-1] + right[1:]
    cut = int(np.argmax(pair_masses))
    left_end = int(np.argmax(ending[: cut + 1]))
    right_start = cut + 1 + int(np.argmax(starting[cut + 1 :]))
    return single, interval, max(single, float(pair_masses[cut])), float(ordered[left_end] + ordered[right_start]) / 2


TAILS = np.array([0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005])
SIZES = np.array([20, 50, 100, 200, 500, 2000])
QUANTILES = np.array(
    [
        [0.656, 0.790, 0.869, 0.940, 1.022, 1.079, 1.131, 1.195, 1.234, 1.273],
        [0.691, 0.831, 0.916, 0.993, 1.083, 1.145, 1.203, 1.274, 1.324, 1.373],
        [0.710, 0.854, 0.943, 1.021, 1.115, 1.178, 1.239, 1.316, 1.370, 1.423],
        [0.724, 0.871, 0.963, 1.043, 1.140, 1.208, 1.270, 1.348, 1.404, 1.463],
        [0.737, 0.886, 0.978, 1.063, 1.162, 1.228, 1.293, 1.377, 1.433, 1.482],
        [0.747, 0.899, 0.993, 1.076, 1.178, 1.249, 1.315, 1.407, 1.463, 1.545],
    ]
)
"""Root of n times the excess of uniform samples of n = SIZES values, exceeded with probability TAILS: simulated with
60,000 samples of 2000 and up to 400,000 of the shorter ones. Half of it is Hartigan & Hartigan's (1985) table 1."""


def tail(excess: float, worth: float) -> float:
    """Return the p value of an excess in `worth` independent values; log p is interpolated in the table above."""
    rows = np.interp(-1 / np.sqrt(max(worth, 1.0)), -1 / np.sqrt(SIZES), np.arange(len(SIZES)))
    lower = int(rows)
    upper = min(lower + 1, len(SIZES) - 1)
    row = QUANTILES[lower] + (rows - lower) * (QUANTILES[upper] - QUANTILES[lower])
    value = excess * math.sqrt(worth)
    logs = np.log(TAILS)
    if value > row[-1]:
        # The tail of a supremum falls like exp(-c x^2): go on along the last columns.
        slope = (logs[-1] - logs[-4]) / (row[-1] ** 2 - row[-4] ** 2)
        return math.exp(float(logs[-1] + slope * (value**2 - row[-1] ** 2)))
    return 1.0 if value < row[0] else math.exp(float(np.interp(value, row, logs)))
