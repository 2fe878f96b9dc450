"""The evidence for a step at a place in a series, averaged over noise and drift.

Values are white noise plus a random walk, which stands for drift of any kind: the variance of a successive difference
is 2 s^2, and `ratios` are the possible standard deviations of the walk's increments, as multiples of the noise's. The
level is unknown (a flat prior), the scale s has an inverse gamma prior, a step a normal one with several widths. All
three are integrated out in closed form (Zellner 1971, An Introduction to Bayesian Inference in Econometrics, chapter
3), and ratios and widths are averaged over.

The result is an e-value: for series without a step its mean is 1, so that it exceeds 1 / p with a probability of at
most p (Markov), also as an average of several looks at the same values (Vovk & Wang 2021, Ann. Stat. 49:1736). A drift
that moves before and after the place as it does at it explains a step; two flat levels do not.
"""

from __future__ import annotations

import math
from functools import lru_cache

import msgspec
import numpy as np

from becalm.stats.arrays import Floats

WIDTHS = (3.0, 10.0, 30.0, 100.0)
"""The standard deviations of a step's size, in those of a value, that are equally likely."""

Drift = tuple[tuple[float, float], ...]
"""The ratios of a random walk's increments to white noise, and their prior probabilities."""

ANY_DRIFT: Drift = ((0.0, 0.25), (0.1, 0.15), (0.25, 0.2), (0.6, 0.2), (1.5, 0.15), (5.0, 0.05))
"""A prior from no drift to nothing but drift, for a machine of which nothing is known."""

LITTLE_DRIFT: Drift = ((0.0, 0.4), (0.1, 0.4), (0.15, 0.2))
"""The machine's drift that is left after the common drift of all benchmarks is subtracted. Larger moves come from
commits."""


class Window(msgspec.Struct, frozen=True):
    """Constants of a number of values before and after a place, which do not depend on the values, for each drift.

    - `whitening`: residuals of the level in units of white noise, shape (ratios, n, n)
    - `contrast`: the step's estimate in its standard errors, shape (ratios, n)
    - `information`: the reciprocal of its variance
    - `constant`: the logarithm of the part of the likelihood that does not depend on values, prior included
    """

    whitening: Floats
    contrast: Floats
    information: Floats
    constant: Floats


@lru_cache(maxsize=1024)
def window(before: int, after: int, drift: Drift) -> Window:
    """Return the window of given numbers of values before and after a place."""
    count = before + after
    order = np.arange(count, dtype=np.float64)
    walk = np.minimum.outer(order, order)
    whitening, contrast, information, constant = [], [], [], []
    for ratio, prior in drift:
        covariance = (np.eye(count) + ratio**2 * walk) * 2 / (2 + ratio**2)
        lower = np.linalg.cholesky(covariance)
        white = np.linalg.inv(lower)
        level = white.sum(axis=1)
        squared = float(level @ level)
        level /= math.sqrt(squared)
        residual = white - np.outer(level, level @ white)
        step = residual @ (order >= before)
        size = math.sqrt(float(step @ step))
        whitening.append(residual)
        contrast.append(step @ residual / size)
        information.append(size**2)
        constant.append(math.log(prior) - float(np.log(np.diag(lower)).sum()) - math.log(squared) / 2)
    return Window(np.array(whitening), np.array(contrast), np.array(information), np.array(constant))


def log_evidence(
    values: Floats,
    before: int,
    scale: Floats,
    freedom: Floats,
    drift: Drift,
    extra: Floats | None = None,
    learned: Floats | float = 0.0,
) -> Floats:
    """Return the logarithm of the e-value of a step in each series, shape (series,).

    Arguments:
        values: shape (series, n), about 0.
        before: number of values before the place.
        scale: standard deviation of white noise as known from other values, above 0, shape (series,).
        freedom: its degrees of freedom, shape (series,).
        drift: the possible drift.
        extra: variance of the step apart from noise and drift, in the square of the values' unit, shape (series,).
        learned: the log likelihood of drift from other values of a series (`drift_likelihood`), shape (series, ratios).
    """
    constants = window(before, values.shape[1] - before, drift)
    likelihoods, contrast, total, half = _without_step(values, constants, scale, freedom)
    likelihoods = likelihoods + learned
    share = contrast / total
    ratios = []
    for width in WIDTHS:
        gain = width**2 * constants.information
        ratios.append(-0.5 * np.log1p(gain) - half * np.log1p(-gain / (1 + gain) * share))
    result = _average(np.stack(ratios), likelihoods)
    if extra is None:
        return result
    # The extra variance is not a multiple of an unknown scale: the scale that a step leaves is used, and the lesser
    # evidence.
    variance = (total - contrast) / (2 * half)
    explained = 1 + extra[:, None] / variance * constants.information
    ratios = []
    for width in WIDTHS:
        gain = width**2 * constants.information / explained
        ratios.append(-0.5 * np.log1p(gain) + gain / (1 + gain) * contrast / variance / explained / 2)
    log_likelihoods = -0.5 * np.log(explained) - contrast / variance / explained / 2
    weights = log_likelihoods + constants.constant + learned - half * np.log(variance)
    return np.minimum(result, _average(np.stack(ratios), weights))


def drift_likelihood(values: Floats, scale: Floats, freedom: Floats, drift: Drift) -> Floats:
    """Return the log likelihood of each ratio of drift without priors, shape (series, ratios), from values.

    With a probability of 0.3 there is a step after a quarter, a half or three quarters of the values, so that a step is
    not mistaken for drift. Arguments as those of `log_evidence`.
    """
    count = values.shape[1]
    step_likelihoods = []
    for before in (count // 4, count // 2, 3 * count // 4):
        constants = window(before, count - before, drift)
        without, contrast, total, half = _without_step(values, constants, scale, freedom)
        for width in WIDTHS:
            gain = width**2 * constants.information
            step_likelihoods.append(
                without - 0.5 * np.log1p(gain) - half * np.log1p(-gain / (1 + gain) * contrast / total)
            )
    with_step = np.logaddexp.reduce(np.stack(step_likelihoods), axis=0) - math.log(len(step_likelihoods))
    prior = np.log([prior for _, prior in drift])
    logs: Floats = np.logaddexp(without + math.log(0.7), with_step + math.log(0.3)) - prior
    result: Floats = logs - logs.max(axis=1, keepdims=True)
    return result


def _without_step(
    values: Floats, constants: Window, scale: Floats, freedom: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return log likelihood without a step, squares of its contrast and of all values, and half the degrees of
    freedom."""
    squares = np.square(constants.whitening @ values.T).sum(axis=1).T
    contrast = np.square(values @ constants.contrast.T)
    total = (freedom * scale**2)[:, None] + squares
    half = ((values.shape[1] - 1 + freedom) / 2)[:, None]
    return constants.constant - half * np.log(total), contrast, total, half


def _average(ratios: Floats, without: Floats) -> Floats:
    """Return the log likelihood with a step over that without, averaged over widths and drift, shape (series,).

    `ratios`: for each width and drift, shape (widths, series, ratios). `without`: shape (series, ratios).
    """
    with_step = np.logaddexp.reduce(ratios, axis=0) - math.log(len(WIDTHS)) + without
    result: Floats = np.logaddexp.reduce(with_step, axis=1) - np.logaddexp.reduce(without, axis=1)
    return result


def size_of_step(values: Floats, before: int, scale: float, freedom: float, drift: Drift) -> tuple[float, float, float]:
    """Return the size of a step, its standard error and degrees of freedom, averaged over drift.

    Arguments as those of `log_evidence`, `values` of one series, shape (n,).
    """
    constants = window(before, len(values) - before, drift)
    squares = np.square(constants.whitening @ values).sum(axis=1)
    contrast = constants.contrast @ values
    residual_squares = freedom * scale**2 + squares - contrast**2
    total_freedom = len(values) - 2 + freedom
    logs = constants.constant - total_freedom / 2 * np.log(residual_squares) - np.log(constants.information) / 2
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    sizes = contrast / np.sqrt(constants.information)
    variances = residual_squares / total_freedom / constants.information
    size = float(weights @ sizes)
    return size, math.sqrt(float(weights @ (variances + (sizes - size) ** 2))), total_freedom
