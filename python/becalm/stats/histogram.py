"""A histogram of run times that a long tail does not squeeze into one bin."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from becalm.stats.bins import Histogram

FEWEST_BINS = 5
MOST_BINS = 20


def histogram(values: npt.ArrayLike, step: float = 0.0, between: tuple[float, float] | None = None) -> Histogram:
    """Bins of the width of Freedman & Diaconis (1981, Z. Wahrsch. 57:453), 5 to 20 of them, without far tails.

    Values more than three interquartile ranges beyond the quartiles (Tukey's far-out fence), or outside of `between`,
    are only counted. `step`: values lie so far apart at least, and no bin is narrower: else every other one would be
    empty. Raises ValueError for an empty series.
    """
    x = np.asarray(values, dtype=np.float64)
    if len(x) == 0:
        raise ValueError("A histogram needs at least one value.")
    first, third = np.percentile(x, [25, 75])
    width = third - first
    least, most = between or ((first - 3 * width, third + 3 * width) if width > 0 else (-np.inf, np.inf))
    inside = x[(x >= least) & (x <= most)]
    low, high = float(inside.min()), float(inside.max())
    if high == low:
        return Histogram(low, high, (len(inside),), int((x < low).sum()), int((x > high).sum()))
    wide = 2 * width / len(x) ** (1 / 3)
    bins = int(np.clip(np.ceil((high - low) / wide) if wide > 0 else MOST_BINS, FEWEST_BINS, MOST_BINS))
    if step > 0:
        bins = max(1, min(bins, int((high - low) / step)))
    # No more than there are numbers between the two.
    bins = max(1, min(bins, int((high - low) / np.spacing(high))))
    counts, _ = np.histogram(inside, bins=bins, range=(low, high))
    return Histogram(low, high, tuple(int(n) for n in counts), int((x < low).sum()), int((x > high).sum()))
