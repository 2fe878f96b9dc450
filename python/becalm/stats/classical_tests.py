"""Classical tests of two or more samples, all two-sided unless stated otherwise.

Everyone knows them, so reports quote them; none allows for runs that are correlated in time, which is why `compare`
uses `becalm.stats.paired` instead (docs/explanation/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.special import fdtr, fdtrc, ndtr, stdtr

from becalm.stats.arrays import Floats, series
from becalm.stats.normal_scores import midranks

EXACT = 50
"""The most pairs for which Wilcoxon's test counts all signs."""

EXACT_SMALLER = 8
"""The most values of the smaller sample for which the Mann-Whitney test counts all orders."""


class TestResult(msgspec.Struct, frozen=True):
    """The test statistic, its degrees of freedom (empty where it has none) and the p value."""

    __test__ = False  # Not a class of tests, whatever pytest makes of its name.

    statistic: float
    df: tuple[float, ...]
    p_value: float


def f_test(first: npt.ArrayLike, second: npt.ArrayLike) -> TestResult:
    """Test for equal variances of two normal samples: the first's over the second's (Snedecor 1934).

    Two-sided: twice the smaller tail. Very sensitive to heavy tails; `brown_forsythe` is not.
    """
    x, y = series(first, "The first sample", 2), series(second, "The second sample", 2)
    over, under = float(x.var(ddof=1)), float(y.var(ddof=1))
    df = (len(x) - 1.0, len(y) - 1.0)
    if under == 0.0:
        return TestResult(math.nan if over == 0.0 else math.inf, df, 1.0 if over == 0.0 else 0.0)
    ratio = over / under
    return TestResult(ratio, df, min(1.0, 2 * min(float(fdtr(*df, ratio)), float(fdtrc(*df, ratio)))))


def levene(*samples: npt.ArrayLike) -> TestResult:
    """Test for equal variances: analysis of variance of the distances from each sample's mean (Levene 1960)."""
    return _distances([series(s, "A sample", 2) for s in samples], np.mean)


def brown_forsythe(*samples: npt.ArrayLike) -> TestResult:
    """Test for equal variances as Levene, about the medians: robust to skewness and tails (Brown & Forsythe 1974, J.
    Am. Stat. Assoc. 69:364)."""
    return _distances([series(s, "A sample", 2) for s in samples], np.median)


def _distances(samples: list[Floats], centre: Callable[[Floats], np.floating[Any]]) -> TestResult:
    if len(samples) < 2:
        raise ValueError(f"A test of equal variances needs at least two samples; {len(samples)} were given.")
    z = [np.abs(s - centre(s)) for s in samples]
    total, groups = sum(len(s) for s in z), len(z)
    mean = float(np.concatenate(z).mean())
    between = sum(len(s) * (float(s.mean()) - mean) ** 2 for s in z) / (groups - 1)
    within = sum(float(((s - s.mean()) ** 2).sum()) for s in z) / (total - groups)
    df = (groups - 1.0, float(total - groups))
    if within == 0.0:
        return TestResult(math.nan if between == 0.0 else math.inf, df, 1.0 if between == 0.0 else 0.0)
    return TestResult(between / within, df, float(fdtrc(*df, between / within)))


def student_t(first: npt.ArrayLike, second: npt.ArrayLike) -> TestResult:
    """Test for equal means of two normal samples with one variance (Student 1908, Biometrika 6:1); sign of first -
    second."""
    x, y = series(first, "The first sample", 2), series(second, "The second sample", 2)
    df = len(x) + len(y) - 2.0
    pooled = (float(((x - x.mean()) ** 2).sum()) + float(((y - y.mean()) ** 2).sum())) / df
    return _t(float(x.mean() - y.mean()), math.sqrt(pooled * (1 / len(x) + 1 / len(y))), df)


def welch_t(first: npt.ArrayLike, second: npt.ArrayLike) -> TestResult:
    """Test for equal means of two normal samples with variances of their own (Welch 1947, Biometrika 34:28)."""
    x, y = series(first, "The first sample", 2), series(second, "The second sample", 2)
    vx, vy = float(x.var(ddof=1)) / len(x), float(y.var(ddof=1)) / len(y)
    if vx + vy == 0.0:
        return _t(float(x.mean() - y.mean()), 0.0, len(x) + len(y) - 2.0)
    share = vx / (vx + vy)
    df = 1 / (share**2 / (len(x) - 1) + (1 - share) ** 2 / (len(y) - 1))
    return _t(float(x.mean() - y.mean()), math.sqrt(vx + vy), df)


def paired_t(first: npt.ArrayLike, second: npt.ArrayLike) -> TestResult:
    """Test for a mean difference of pairs of zero (Student 1908). Raises ValueError for samples of different size."""
    d = _differences(first, second)
    if len(d) < 2:
        raise ValueError(f"A paired t test needs at least two pairs; {len(d)} was given.")
    return _t(float(d.mean()), float(d.std(ddof=1)) / math.sqrt(len(d)), len(d) - 1.0)


def _t(difference: float, error: float, df: float) -> TestResult:
    if error == 0.0:
        zero = difference == 0.0
        return TestResult(math.nan if zero else math.copysign(math.inf, difference), (df,), 1.0 if zero else 0.0)
    return TestResult(difference / error, (df,), 2 * float(stdtr(df, -abs(difference / error))))


def mann_whitney(first: npt.ArrayLike, second: npt.ArrayLike) -> TestResult:
    """Test that neither sample tends to be larger; the statistic is the first's U (Mann & Whitney 1947, Ann. Math.
    Stat. 18:50).

    Exact by counting all orders when there are no ties and a sample has 8 values or fewer; else normal, with correction
    for ties and continuity.
    """
    x, y = series(first, "The first sample"), series(second, "The second sample")
    n, m = len(x), len(y)
    both = np.concatenate((x, y))
    u = float(midranks(both)[:n].sum()) - n * (n + 1) / 2
    _, ties = np.unique(both, return_counts=True)
    extreme = max(u, n * m - u)
    if len(ties) == n + m and min(n, m) <= EXACT_SMALLER:
        counts = _orders(n, m)
        return TestResult(u, (), min(1.0, 2 * float(counts[math.ceil(extreme) :].sum() / counts.sum())))
    size = float(n + m)
    spread = math.sqrt(n * m / 12 * (size + 1 - float((ties.astype(float) ** 3 - ties).sum()) / (size * (size - 1))))
    if spread == 0.0:
        return TestResult(u, (), 1.0)
    return TestResult(u, (), min(1.0, 2 * float(ndtr(-(extreme - n * m / 2 - 0.5) / spread))))


def _orders(n: int, m: int) -> Floats:
    """Return how many orders of n + m values give each U from 0 to n m: coefficients of the Gaussian binomial."""
    n, m = min(n, m), max(n, m)
    counts = np.zeros(n * m + 1)
    counts[0] = 1.0
    for k in range(1, n + 1):
        for above in range(len(counts) - 1, m + k - 1, -1):
            counts[above] -= counts[above - m - k]
        for above in range(k, len(counts)):
            counts[above] += counts[above - k]
    return counts


def wilcoxon(first: npt.ArrayLike, second: npt.ArrayLike) -> TestResult:
    """Test for differences of pairs symmetric about zero; the statistic is the smaller sum of signed ranks (Wilcoxon
    1945, Biom. Bull. 1:80).

    Pairs without a difference are left out. Exact by counting all signs up to 50 pairs without ties or zeros; else
    normal with correction for ties (no correction for continuity). Raises ValueError for samples of different size.
    """
    all_differences = _differences(first, second)
    d = all_differences[all_differences != 0.0]
    count = len(d)
    if count == 0:
        return TestResult(0.0, (), 1.0)
    ranks = midranks(np.abs(d))
    positive = float(ranks[d > 0.0].sum())
    least = min(positive, count * (count + 1) / 2 - positive)
    _, ties = np.unique(np.abs(d), return_counts=True)
    if len(ties) == count == len(all_differences) and count <= EXACT:
        ways = np.zeros(count * (count + 1) // 2 + 1)
        ways[0] = 1.0
        for rank in range(1, count + 1):
            ways[rank:] = ways[rank:] + ways[:-rank]
        return TestResult(least, (), min(1.0, 2 * float(ways[: int(least) + 1].sum()) / 2.0**count))
    variance = count * (count + 1) * (2 * count + 1) / 24 - float((ties.astype(float) ** 3 - ties).sum()) / 48
    return TestResult(least, (), min(1.0, 2 * float(ndtr((least - count * (count + 1) / 4) / math.sqrt(variance)))))


def _differences(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    x, y = series(first, "The first sample"), series(second, "The second sample")
    if len(x) != len(y):
        raise ValueError(f"Pairs need samples of one size; they have {len(x)} and {len(y)} values.")
    return x - y
