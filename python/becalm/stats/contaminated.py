"""The contaminated normal distribution (Tukey 1960): most values scatter by `core`, a share of them five times as much.

A model of sessions of a benchmark, of which a few are bad for no reason that anybody knows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from becalm.stats.arrays import Floats

WIDER = 5.0
"""The ratio of the standard deviation of stray values to that of the others."""

LEAST, MOST = 0.002, 0.2
"""Shares of stray values that are believed."""

USUAL = 0.02
"""The share while nothing is known."""

BOUND = 4.0
"""Squares count as at most so many of their variances: a value may stray as far as it likes."""

_ROUNDS = 5
_KEPT = 0.92054
"""Mean of the square of a standard normal variable that counts as at most `BOUND`."""
# Median of the square of a standard normal variable.
_MEDIAN = 0.4549364


@dataclass(frozen=True, slots=True)
class ValueNoise:
    """Standard deviation of values that do not stray, NaN where it is unknown, and the share of those that do."""

    core: float = math.nan
    stray: float = USUAL


def noise_of(differences: Floats, usual: float, peers: float) -> tuple[Floats, Floats]:
    """Return core and share of stray values of each series, from its successive differences.

    Expectation and maximisation from the median on, with bounded squares, so that neither a few stray values nor steps
    make others seem usual.

    Arguments:
        differences: shape (series, n), NaN where there is none.
        usual, peers: the share of stray values that others have, and how many values that is worth.

    The core is NaN for series whose differences are all 0 or missing.
    """
    squares = np.square(differences)
    there = ~np.isnan(squares)
    count = there.sum(axis=1)
    ordered = np.sort(np.where(squares > 0, squares, np.inf), axis=1)
    known = np.isfinite(ordered).sum(axis=1)
    # Of those that are not 0: with ties the median may be 0.
    place = np.maximum(known - 1, 0) // 2
    middle = ordered[np.arange(len(ordered)), place] if ordered.shape[1] else np.full(len(ordered), np.inf)
    variance = np.where(np.isfinite(middle), middle, math.nan) / _MEDIAN / 2
    share = np.full(len(squares), usual)
    data = np.where(there, squares, 0.0)
    # A difference is of two values, of which none, one or both stray.
    spreads = np.array([2.0, 1 + WIDER**2, 2 * WIDER**2])[:, None, None]
    for _ in range(_ROUNDS):
        scale = spreads * variance[None, :, None]
        prior = np.stack([(1 - share) ** 2, 2 * share * (1 - share), share**2])[:, :, None] / np.sqrt(spreads)
        density = prior * np.exp(-np.minimum(data / (2 * scale), 600.0))
        chance = density / density.sum(axis=0) * there
        bounded = np.minimum(data, BOUND * scale)
        variance = (bounded * (chance / spreads)).sum(axis=(0, 2)) / np.maximum(count, 1) / _KEPT
        seen = (chance[1] + 2 * chance[2]).sum(axis=1) / 2
        share = np.clip((seen + peers * usual) / (count + peers), LEAST, MOST)
    with np.errstate(invalid="ignore"):
        return np.where(variance > 0, np.sqrt(variance), math.nan), share
