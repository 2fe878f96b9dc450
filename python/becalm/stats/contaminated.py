"""The contaminated normal distribution (Tukey 1960): most values scatter by `core`, a share of them five times as much.

It models the sessions of a benchmark, a few of which are bad for unknown reasons.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from becalm.stats.arrays import Floats

WIDER = 5.0
"""The ratio of the standard deviation of stray values to that of the others."""

LEAST, MOST = 0.002, 0.2
"""The limits of the share of stray values."""

USUAL = 0.02
"""The share of stray values assumed without data."""

BOUND = 4.0
"""The largest square that counts, in variances: a value may stray as far as it likes."""

_ROUNDS = 5
_KEPT = 0.92054
"""The mean of the square of a standard normal variable, bounded at `BOUND`."""
# Median of the square of a standard normal variable.
_MEDIAN = 0.4549364


class ValueNoise(msgspec.Struct, frozen=True):
    """The standard deviation of values that do not stray, NaN where it is unknown, and the share of those that do."""

    core: float = math.nan
    stray: float = USUAL


def noise_of(differences: Floats, usual: float, peers: float) -> tuple[Floats, Floats]:
    """Return core and share of stray values of each series, shape (series,), from its successive differences.

    Expectation and maximisation, starting from the median, with bounded squares, so that neither a few stray values nor
    steps make others seem usual.

    Arguments:
        differences: shape (series, n), NaN where there is none.
        usual, peers: the share of stray values in other series, and the number of values that this share is worth.

    The core is NaN for series whose differences are all 0 or missing.
    """
    squares = np.square(differences)
    present = ~np.isnan(squares)
    count = present.sum(axis=1)
    ordered = np.sort(np.where(squares > 0, squares, np.inf), axis=1)
    known_count = np.isfinite(ordered).sum(axis=1)
    # The median of differences that are not 0: with ties that of all may be 0.
    place = np.maximum(known_count - 1, 0) // 2
    middle = ordered[np.arange(len(ordered)), place] if ordered.shape[1] else np.full(len(ordered), np.inf)
    variance = np.where(np.isfinite(middle), middle, math.nan) / _MEDIAN / 2
    share = np.full(len(squares), usual)
    data = np.where(present, squares, 0.0)
    # A difference is of two values, of which none, one or both stray.
    spreads = np.array([2.0, 1 + WIDER**2, 2 * WIDER**2])[:, None, None]
    for _ in range(_ROUNDS):
        scale = spreads * variance[None, :, None]
        prior = np.stack([(1 - share) ** 2, 2 * share * (1 - share), share**2])[:, :, None] / np.sqrt(spreads)
        density = prior * np.exp(-np.minimum(data / (2 * scale), 600.0))
        probability = density / density.sum(axis=0) * present
        bounded = np.minimum(data, BOUND * scale)
        variance = (bounded * (probability / spreads)).sum(axis=(0, 2)) / np.maximum(count, 1) / _KEPT
        stray_count = (probability[1] + 2 * probability[2]).sum(axis=1) / 2
        share = np.clip((stray_count + peers * usual) / (count + peers), LEAST, MOST)
    with np.errstate(invalid="ignore"):
        return np.where(variance > 0, np.sqrt(variance), math.nan), share
