"""The histogram of run times, in which a long tail does not squeeze all values into one bin."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, quantile
from becalm.stats.bins import Histogram

FEWEST_BINS = 5
MOST_BINS = 20


def histogram(values: npt.ArrayLike, step: float = 0.0, between: tuple[float, float] | None = None) -> Histogram:
    """Return bins of the width of Freedman & Diaconis (1981, Z. Wahrsch. 57:453), 5 to 20 of them, without far tails.

    Values, shape (n,), more than three interquartile ranges beyond the quartiles (Tukey's far-out fence), or outside of
    `between`, are only counted. `step`: values are multiples of it, and every bin spans the same number of them. Raises
    ValueError for an empty series.
    """
    # Sorting is cheap for callers with thousands of series, who pass them sorted.
    x = np.sort(np.asarray(values, dtype=np.float64))
    if len(x) == 0:
        raise ValueError("A histogram needs at least one value.")
    first, third = quantile(x, 0.25), quantile(x, 0.75)
    width = third - first
    least, most = between or ((first - 3 * width, third + 3 * width) if width > 0 else (-np.inf, np.inf))
    below, end = int(np.searchsorted(x, least)), int(np.searchsorted(x, most, side="right"))
    inside, above = x[below:end], len(x) - end
    low, high = float(inside[0]), float(inside[-1])
    if high == low:
        return Histogram(low, high, (len(inside),), below, above)
    wide = 2 * width / len(x) ** (1 / 3)
    bins = int(np.clip(np.ceil((high - low) / wide) if wide > 0 else MOST_BINS, FEWEST_BINS, MOST_BINS))
    if step > 0:
        return _stepped(inside, step, bins, (below, above))
    # At most as many bins as there are floats between the two ends.
    bins = max(1, min(bins, int((high - low) / np.spacing(high))))
    # A value on an edge belongs to the bin that begins there, the largest one to the last bin.
    edges = np.searchsorted(inside, np.linspace(low, high, bins + 1)[1:-1])
    counts = np.diff(edges, prepend=0, append=len(inside))
    return Histogram(low, high, tuple(counts.tolist()), below, above)


def _stepped(inside: Floats, step: float, bins: int, outside: tuple[int, int]) -> Histogram:
    """Return bins of whole steps from the first value on; values less than half a step off a multiple belong to its
    bin."""
    low = float(inside[0])
    places = np.rint((inside - low) / step).astype(np.int64)
    steps_of_bin = max(1, math.ceil((int(places[-1]) + 1) / bins)) if places[-1] >= MOST_BINS else 1
    counts = np.bincount(places // steps_of_bin)
    return Histogram(low, low + len(counts) * steps_of_bin * step, tuple(counts.tolist()), *outside)
