"""Normal scores: a series with its order in time kept and its distribution made normal."""

from __future__ import annotations

import msgspec
import numpy as np

from becalm.stats.arrays import Floats
from becalm.stats.effective_sample_size import ROUNDS, correlations
from becalm.stats.normal import ndtri

DECAYS = 1 - np.geomspace(1.0 - 1e-3, 0.003, 40)
"""The decays of the memory that are fitted, from none to one of 300 runs."""

WORTH_FITTING = 4.0
"""The least gain of a fit, in units of 1 / n: twice what white noise seems to gain."""


def midranks(values: Floats) -> Floats:
    """Return ranks from 1 to n; equal values share the mean of their ranks."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2.0)[where]


def normal_scores(values: Floats) -> Floats:
    """Return Blom's scores (1958, Statistical Estimates and Transformed Beta-Variables), shape (n,): only the order in
    time matters, and bursts and two modes lose their weight."""
    return np.asarray(ndtri((midranks(values) - 0.375) / (len(values) + 0.25)))


class Memory(msgspec.Struct, frozen=True):
    """Autocorrelation share * decay^k at lag k >= 1: an autoregression seen through white noise.

    `share` and `decay` between 0 and 1. Times of runs are like that: the machine's speed wanders, and each run adds
    some noise of its own.
    """

    share: float
    decay: float

    @property
    def time(self) -> float:
        """The integrated autocorrelation time in runs, 1 for white noise."""
        return 1 + 2 * self.share * self.decay / (1 - self.decay)

    def mean_of(self, runs: Floats) -> Floats:
        """Return the variance of the mean of `runs` successive values of variance 1."""
        d = self.decay
        ar = (1 + d) / (1 - d) / runs - 2 * d * (1 - d**runs) / (runs * (1 - d)) ** 2
        return (1 - self.share) / runs + self.share * ar

    def spectrum(self, frequency: Floats) -> Floats:
        """Return the density at a frequency in cycles per run, relative to white noise of the same variance."""
        d = self.decay
        ar = (1 - d * d) / (1 - 2 * d * np.cos(2 * np.pi * frequency) + d * d)
        return np.asarray((1 - self.share) + self.share * ar)


def memory(residuals: Floats, fitted: int = 1) -> Memory:
    """Return the least-squares fit of `Memory` to the autocorrelations at lags up to a quarter of the series, at most
    100.

    `fitted` coefficients (1: the mean; 2: a line) have lowered each autocorrelation by about fitted * tau / n, which is
    added back first (Kendall 1954, Biometrika 41:403).
    """
    count = len(residuals)
    lags = min(max(count // 4, 3), 100)
    rho = correlations(residuals)[1 : lags + 1]
    powers = DECAYS[:, None] ** np.arange(1, lags + 1)
    squares = (powers * powers).sum(axis=1)
    fit = Memory(0.0, 0.0)
    for _ in range(ROUNDS):
        bias = min(fitted * fit.time / count, 0.5)
        corrected = (rho + bias) / (1 + bias)
        shares = np.clip(powers @ corrected / squares, 0.0, 1.0)
        gains = (2 * powers @ corrected - shares * squares) * shares
        best = int(np.argmax(gains))
        # Each autocorrelation of white noise has variance 1 / n: two coefficients gain 2 / n from nothing.
        if gains[best] < WORTH_FITTING / count:
            return Memory(0.0, 0.0)
        fit = Memory(float(shares[best]), float(DECAYS[best]))
    return fit
