"""A response surface of the log spread over sets of settings, fitted to all runs of all arms together.

Dispersion effects add on the scale of log variance (Bartlett & Kendall 1946, J. R. Stat. Soc. B 8:128; Box & Meyer
1986, Technometrics 28:19). The effect of each setting has a normal prior about zero; the rest, which is not a sum of
effects, is a Gaussian process in the number of settings by which two arms differ. So arms with few runs gain precision
from each other.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from scipy.special import digamma, polygamma

from becalm.stats.arrays import Floats
from becalm.stats.one_thread import one_thread

EFFECT = 0.45
"""The prior standard deviation of a setting's effect on log spread: most change it by less than a factor of 2.5."""

REST, REACH = 0.5, 4.0
"""The standard deviation of the rest, and its correlation length as a number of settings."""

TAILS = 1.3
"""The variance of a log spread relative to that with normal noise, since run times have heavier tails."""

ONE_EFFECT = 0.5
"""The prior standard deviation of the effect of a setting on log spread if it is the only one with an effect."""


class SpreadSurface(msgspec.Struct, frozen=True):
    """The measured log spreads of arms.

    `x`: +1 for a setting in the arm, else -1, shape (arms, candidates). `y`, `variance`: log spreads and their
    variances, shape (arms,).
    """

    x: Floats
    y: Floats
    variance: Floats

    @classmethod
    def of(cls, x: Floats, spread: Floats, freedom: Floats) -> SpreadSurface:
        """Return the surface of spreads with their degrees of freedom, both of shape (arms,).

        The logarithm of a chi-squared variable has a known bias, which is removed, and a known variance.
        """
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
        """Return the posterior mean of log spread at the measured arms, as by `predict`, shape (arms,)."""
        centre = float(np.average(self.y, weights=1 / (self.variance + EFFECT**2)))
        kernel = _kernel(self.x, self.x)
        weights = np.linalg.solve(kernel + np.diag(self.variance), kernel.T)
        return np.asarray(centre + weights.T @ (self.y - centre))

    @one_thread()
    def effects(self) -> tuple[Floats, Floats]:
        """Return the posterior mean, shape (candidates,), and covariance of the settings' effects on log spread."""
        centre = float(np.average(self.y, weights=1 / (self.variance + EFFECT**2)))
        covariance = _kernel(self.x, self.x) + np.diag(self.variance)
        solved = np.linalg.solve(covariance, np.column_stack([self.y - centre, self.x]))
        prior = EFFECT**2 / 4
        mean = prior * self.x.T @ solved[:, 0]
        spread = prior * np.eye(self.x.shape[1]) - prior**2 * self.x.T @ solved[:, 1:]
        return 2 * mean, 4 * spread

    @one_thread()
    def evidence(self) -> float:
        """Return the log Bayes factor of a single, unknown setting with an effect against none.

        It is negative if the arms look alike. It uses all arms, those with a setting against those without, and so is
        more sensitive than a comparison of two arms.
        """
        none = np.diag(self.variance)
        alike = self._likelihood(none)
        on = (self.x + 1) / 2
        likelihoods = [self._likelihood(none + ONE_EFFECT**2 * np.outer(column, column)) - alike for column in on.T]
        return float(np.logaddexp.reduce(likelihoods)) - math.log(len(likelihoods))

    def _likelihood(self, covariance: Floats) -> float:
        # The common level has a very wide prior.
        covariance = covariance + 100.0
        rest = self.y - self.y.mean()
        _, logarithm = np.linalg.slogdet(covariance)
        return -0.5 * (float(rest @ np.linalg.solve(covariance, rest)) + float(logarithm))


def _kernel(arms: Floats, other: Floats) -> Floats:
    count = arms.shape[1]
    product = arms @ other.T
    # With x = +-1, setting a candidate changes x by 2, so an effect is twice its coefficient.
    additive = EFFECT**2 * (product + count) / 4
    rest = REST**2 * np.exp((product - count) / (2 * REACH))
    return np.asarray(additive + rest + 4.0)
