"""Normal scores: a series with its order in time kept and its distribution made normal."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from becalm.stats.arrays import Floats
from becalm.stats.effective import correlation_time


def midranks(values: Floats) -> Floats:
    """Ranks from 1 to n; equal values share the mean of their ranks."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2.0)[where]


def normal_scores(values: Floats) -> Floats:
    """Blom's scores (1958, Statistical Estimates and Transformed Beta-Variables): bursts and two modes lose their say,
    what is left is the order in time."""
    return np.asarray(ndtri((midranks(values) - 0.375) / (len(values) + 0.25)))


def lag_one(residuals: Floats, fitted: int = 1) -> float:
    """Autocorrelation at lag 1, corrected for `fitted` coefficients (1: the mean; 2: a line) taken off before.

    Orcutt & Winokur (1969, Econometrica 37:1) and Kendall (1954, Biometrika 41:403): the estimate is too small by
    (1 + 3 rho) / n for a mean, (2 + 4 rho) / n for a line. Between -0.99 and 0.999.
    """
    count = len(residuals)
    square = float(residuals @ residuals)
    if square == 0.0 or count < 10:
        return 0.0
    rho = float(residuals[1:] @ residuals[:-1]) / square
    corrected = (count * rho + fitted) / (count - 2 - fitted)
    return min(max(corrected, -0.99), 0.999)


def longest_correlation_time(residuals: Floats, weighted: Floats, fitted: int) -> float:
    """The longer of two estimates of tau: Geyer's of `weighted`, and that of a first-order autoregression.

    Geyer's assumes nothing, but a short series hides its own slow swings; the other sees them by its model.
    """
    rho = lag_one(residuals, fitted)
    return max(correlation_time(weighted), (1 + rho) / (1 - rho) if not math.isclose(rho, 1.0) else math.inf)
