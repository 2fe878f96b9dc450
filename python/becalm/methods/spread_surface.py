"""A response surface of the logarithm of the spread over sets of settings, from all runs of all arms at once.

Dispersion effects add on the scale of log variance (Bartlett & Kendall 1946, J. R. Stat. Soc. B 8:128; Box & Meyer
1986, Technometrics 28:19). We take the effect of each setting as normal about zero and let what is no sum of effects
be a Gaussian process in the number of settings by which two arms differ. Arms of few runs then learn from each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, polygamma

from becalm.stats.arrays import Floats
from becalm.stats.one_thread import one_thread

EFFECT = 0.45
"""Prior standard deviation of one setting's effect on log spread: most change it by less than a factor of 2.5."""

REST, REACH = 0.5, 4.0
"""Standard deviation of what is no sum of effects, and over how many settings it stays alike."""

TAILS = 1.3
"""Times the variance that log spread has with normal noise: real run times have heavier tails."""

ONE_EFFECT = 0.5
"""Prior standard deviation of the effect of one setting on log spread, were it the only one that has any."""


@dataclass(frozen=True, slots=True)
class SpreadSurface:
    """Measured log spreads `y` with variances, of arms given as rows of +-1 (`x`)."""

    x: Floats
    y: Floats
    variance: Floats

    @classmethod
    def of(cls, x: Floats, spread: Floats, freedom: Floats) -> SpreadSurface:
        """Return the surface of spreads with their degrees of freedom: log s of a chi-squared is biased, with a known
        variance."""
        bias = (digamma(freedom / 2) - np.log(freedom / 2)) / 2
        return cls(x, np.log(spread) - bias, TAILS * polygamma(1, freedom / 2) / 4)

    @one_thread()
    def predict(self, at: Floats) -> tuple[Floats, Floats]:
        """Return the posterior mean, shape (n,), and covariance, shape (n, n), of log spread at n arms."""
        centre = float(np.average(self.y, weights=1 / (self.variance + EFFECT**2)))
        covariance = _kernel(self.x, self.x) + np.diag(self.variance)
        across = _kernel(at, self.x)
        weights = np.linalg.solve(covariance, across.T)
        return centre + weights.T @ (self.y - centre), _kernel(at, at) - across @ weights

    @one_thread()
    def means(self) -> Floats:
        """Return the posterior mean of log spread at the arms themselves, as `predict` has it; shape (arms,)."""
        centre = float(np.average(self.y, weights=1 / (self.variance + EFFECT**2)))
        kernel = _kernel(self.x, self.x)
        weights = np.linalg.solve(kernel + np.diag(self.variance), kernel.T)
        return np.asarray(centre + weights.T @ (self.y - centre))

    @one_thread()
    def effects(self) -> tuple[Floats, Floats]:
        """Return the posterior mean, shape (candidates,), and covariance of the effect of each setting on log
        spread."""
        centre = float(np.average(self.y, weights=1 / (self.variance + EFFECT**2)))
        covariance = _kernel(self.x, self.x) + np.diag(self.variance)
        solved = np.linalg.solve(covariance, np.column_stack([self.y - centre, self.x]))
        prior = EFFECT**2 / 4
        mean = prior * self.x.T @ solved[:, 0]
        spread = prior * np.eye(self.x.shape[1]) - prior**2 * self.x.T @ solved[:, 1:]
        return 2 * mean, 4 * spread

    @one_thread()
    def evidence(self) -> float:
        """Return the log Bayes factor for one setting that has an effect, whichever, against none: negative when the
        arms look alike. All arms count, those with a setting against those without: more evidence than two arms could
        give."""
        none = np.diag(self.variance)
        alike = self._likelihood(none)
        on = (self.x + 1) / 2
        each = [self._likelihood(none + ONE_EFFECT**2 * np.outer(column, column)) - alike for column in on.T]
        return float(np.logaddexp.reduce(each)) - math.log(len(each))

    def _likelihood(self, covariance: Floats) -> float:
        # The common level is free: a very wide prior on it.
        covariance = covariance + 100.0
        rest = self.y - self.y.mean()
        _, logarithm = np.linalg.slogdet(covariance)
        return -0.5 * (float(rest @ np.linalg.solve(covariance, rest)) + float(logarithm))


def _kernel(one: Floats, other: Floats) -> Floats:
    count = one.shape[1]
    product = one @ other.T
    # x = +-1, so that being set or not differs by 2: an effect is twice its coefficient.
    additive = EFFECT**2 * (product + count) / 4
    rest = REST**2 * np.exp((product - count) / (2 * REACH))
    return np.asarray(additive + rest + 4.0)
