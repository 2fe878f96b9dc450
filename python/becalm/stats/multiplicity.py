"""Several comparisons at once: keep the chance of any false alarm at the stated level."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, level, series


def simultaneous_alpha(alpha: float, comparisons: int) -> float:
    """Return the level of each of `comparisons` intervals that all hold together with probability 1 - alpha.

    Bonferroni's alpha / k: needs nothing of how the comparisons depend on each other, and is 5 % wider at most than
    Dunnett's exact interval for k comparisons with one reference. Raises ValueError for a level outside 0…1.
    """
    if comparisons < 1:
        raise ValueError(f"There must be a comparison at least; {comparisons} were asked for.")
    return level(alpha) / comparisons


def bonferroni(p_values: npt.ArrayLike) -> Floats:
    """Return adjusted p values: p k, at most 1 (Dunn 1961, J. Am. Stat. Assoc. 56:52)."""
    p = _checked(p_values)
    return np.minimum(p * len(p), 1.0)


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return adjusted p values of the step-down method, in the order given (Holm 1979, Scand. J. Stat. 6:65).

    Never larger than Bonferroni's and valid under the same conditions: none.
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def _checked(p_values: npt.ArrayLike) -> Floats:
    p = series(p_values, "The list of p values")
    if ((p < 0.0) | (p > 1.0)).any():
        raise ValueError(f"p values lie between 0 and 1; the list runs from {p.min()} to {p.max()}.")
    return p


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """Return adjusted p values, shape (n,): of those at most q, the share q at most is false on average.

    NaN stays NaN and does not count as a test. For tests that are independent or positively dependent (Benjamini &
    Yekutieli 2001, Ann. Stat. 29:1165). Raises ValueError for values outside 0…1.
    """
    p = np.asarray(p_values, dtype=np.float64)
    known = ~np.isnan(p)
    if ((p[known] < 0) | (p[known] > 1)).any():
        raise ValueError("p values lie between 0 and 1.")
    adjusted = np.full(p.shape, math.nan)
    tested = p[known]
    order = np.argsort(tested, kind="stable")
    ranks = np.arange(1, len(tested) + 1)
    raw = tested[order] * len(tested) / ranks
    down = np.minimum.accumulate(raw[::-1])[::-1]
    values = np.empty(len(tested))
    values[order] = np.minimum(down, 1.0)
    adjusted[known] = values
    return adjusted
