"""The rank correlation of two series that were recorded at the same moments, with an interval."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from becalm.stats.arrays import series
from becalm.stats.effective_sample_size import correlations

FIELLER = 1.06
"""The factor of the variance of Fisher's z of ranks, over n - 3 (Fieller, Hartley & Pearson 1957, Biometrika
44:470)."""

FEWEST = 8
"""The fewest values for a correlation."""


class RankCorrelation(msgspec.Struct, frozen=True):
    """Spearman's correlation and the ends of its interval, -1 to 1."""

    value: float
    low: float
    high: float


def rank_correlation(x: npt.ArrayLike, y: npt.ArrayLike, confidence: float = 0.95) -> RankCorrelation | None:
    """Return Spearman's rank correlation; None for fewer than eight values, or for a constant series.

    A few long runs do not decide it, unlike Pearson's. Where both series have a memory, they count as fewer values:
    n / (1 + 2 sum of r(k) s(k)) with their autocorrelations r and s, as far as these products stay positive (Bartlett
    1935, J. R. Stat. Soc. 98:536). Raises ValueError for series that are not finite or not equally long.
    """
    first, second = series(x, "The first series"), series(y, "The second series")
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values cannot be paired with {len(second)}.")
    if len(first) < FEWEST or np.ptp(first) == 0.0 or np.ptp(second) == 0.0:
        return None
    ranks = _ranks(first), _ranks(second)
    value = float(np.corrcoef(*ranks)[0, 1])
    products = (correlations(ranks[0]) * correlations(ranks[1]))[1:]
    ends = np.flatnonzero(products <= 0.0)
    memory = float(products[: ends[0]].sum()) if len(ends) else float(products.sum())
    count = max(len(first) / (1.0 + 2.0 * memory), 4.0)
    half_width = float(ndtri(0.5 + confidence / 2)) * math.sqrt(FIELLER / (count - 3.0))
    z = math.atanh(min(max(value, -0.999999), 0.999999))
    return RankCorrelation(value, math.tanh(z - half_width), math.tanh(z + half_width))


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return ranks from 1 on, shape (n,); equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse], dtype=np.float64)
