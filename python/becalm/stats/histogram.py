"""A histogram of run times that a long tail does not squeeze into one bin."""

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

    Values more than three interquartile ranges beyond the quartiles (Tukey's far-out fence), or outside of `between`,
    are only counted. `step`: values are multiples of it, and every bin holds as many of them: else some would hold one
    more than others. Raises ValueError for an empty series.
    """
    # Sorted once: whoever has thousands of series gives them in order, for which that costs nothing.
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
    # No more than there are numbers between the two.
    bins = max(1, min(bins, int((high - low) / np.spacing(high))))
    # A value on an edge is of the bin that begins there, the largest one of the last bin.
    edges = np.searchsorted(inside, np.linspace(low, high, bins + 1)[1:-1])
    counts = np.diff(edges, prepend=0, append=len(inside))
    return Histogram(low, high, tuple(counts.tolist()), below, above)


def _stepped(inside: Floats, step: float, bins: int, outside: tuple[int, int]) -> Histogram:
    """Return bins of whole steps from the first value on; a value off its multiple by less than half a step is of that
    bin."""
    low = float(inside[0])
    places = np.rint((inside - low) / step).astype(np.int64)
    each = max(1, math.ceil((int(places[-1]) + 1) / bins)) if places[-1] >= MOST_BINS else 1
    counts = np.bincount(places // each)
    return Histogram(low, low + len(counts) * each * step, tuple(counts.tolist()), *outside)
