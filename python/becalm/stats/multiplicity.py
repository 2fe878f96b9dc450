"""Adjustments for several comparisons at once, which keep the probability of any false alarm at the stated level."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, level, series


def simultaneous_alpha(alpha: float, comparisons: int) -> float:
    """Return the level of each of `comparisons` intervals that hold jointly with probability 1 - alpha.

    Bonferroni's alpha / k makes no assumption on how the comparisons depend on each other, and is at most 5 % wider
    than Dunnett's exact interval for k comparisons with one reference. Raises ValueError for a level outside 0…1.
    """
    if comparisons < 1:
        raise ValueError(f"There must be at least one comparison; {comparisons} were requested.")
    return level(alpha) / comparisons


def bonferroni(p_values: npt.ArrayLike) -> Floats:
    """Return adjusted p values, shape (n,): p n, at most 1 (Dunn 1961, J. Am. Stat. Assoc. 56:52)."""
    p = _check(p_values)
    return np.minimum(p * len(p), 1.0)


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return adjusted p values of the step-down method, shape (n,), in the order of the input (Holm 1979, Scand. J.
    Stat. 6:65).

    They are at most Bonferroni's, and hold without assumptions, too.
    """
    p = _check(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def _check(p_values: npt.ArrayLike) -> Floats:
    p = series(p_values, "The list of p values")
    if ((p < 0.0) | (p > 1.0)).any():
        raise ValueError(f"p values lie between 0 and 1; the list runs from {p.min()} to {p.max()}.")
    return p


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """Return adjusted p values, shape (n,): of those that are at most q, on average at most the share q is false.

    NaN stays NaN and does not count as a test. The tests may be independent or positively dependent (Benjamini &
    Yekutieli 2001, Ann. Stat. 29:1165). Raises ValueError for values outside 0…1.
    """
    p = np.asarray(p_values, dtype=np.float64)
    is_test = ~np.isnan(p)
    if ((p[is_test] < 0) | (p[is_test] > 1)).any():
        raise ValueError("p values lie between 0 and 1.")
    adjusted = np.full(p.shape, math.nan)
    tests = p[is_test]
    order = np.argsort(tests, kind="stable")
    ranks = np.arange(1, len(tests) + 1)
    raw = tests[order] * len(tests) / ranks
    down = np.minimum.accumulate(raw[::-1])[::-1]
    values = np.empty(len(tests))
    values[order] = np.minimum(down, 1.0)
    adjusted[is_test] = values
    return adjusted
