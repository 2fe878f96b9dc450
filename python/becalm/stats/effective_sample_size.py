"""The number of independent values that a series of correlated values is worth."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, dot, series

ROUNDS = 3
"""The number of rounds in which the correction for the estimated mean converges."""

LAGS = 64
"""The number of lags that are computed one by one, without the copies of a transform, before all of them are."""


def correlations(values: Floats) -> Floats:
    """Return the autocorrelation at lags 0…n-1, by the fast Fourier transform; zeros after lag 0 for a constant series.

    The divisor is n at all lags (Priestley 1981, Spectral Analysis and Time Series, 5.3): the estimate stays positive
    definite.
    """
    count = len(values)
    centred = values - values.mean()
    # Lengths of two to a power: a prime length would cost the FFT its speed.
    size = 1 << (2 * count - 1).bit_length()
    covariance = np.fft.irfft(np.abs(np.fft.rfft(centred, size)) ** 2, size)[:count]
    unit = np.zeros(count)
    unit[0] = 1.0
    return covariance / covariance[0] if covariance[0] > 0.0 else unit


def correlation_time(values: npt.ArrayLike) -> float:
    """Return the integrated autocorrelation time tau >= 1, in runs: the factor on the variance of the mean.

    Geyer's initial monotone sequence (1992, Stat. Sci. 7:473): sums of two neighbouring autocorrelations are added
    while they are positive, none counting more than the one before. Subtracting the estimated mean lowers every
    autocorrelation by about tau / n (Marriott & Pope 1954, Biometrika 41:390), which is added back. tau is at least 1
    and at most n / 2: a series that seems to alternate is not trusted to know its mean better than white noise.
    """
    x = series(values, "The series", 1)
    count = len(x)
    if count < 4 or x.min() == x.max():
        return 1.0
    pair_sums = _pair_sums(x)
    # The sequence ends at the first measured pair that is not positive: the correction by itself is no correlation.
    negative = np.flatnonzero(pair_sums <= 0.0)
    pair_sums = pair_sums[: negative[0]] if len(negative) else pair_sums
    tau = max(2.0 * float(np.minimum.accumulate(pair_sums).sum()) - 1.0, 1.0)
    if tau == 1.0:
        return 1.0
    for _ in range(ROUNDS):
        pairs = (pair_sums + 2 * tau / count) / (1.0 + tau / count)
        tau = min(max(2.0 * float(np.minimum.accumulate(pairs).sum()) - 1.0, 1.0), count / 2)
    return tau


def _pair_sums(values: Floats) -> Floats:
    """Return the sums of the autocorrelations at lags 0 and 1, 2 and 3, …, at least up to the first that is not
    positive.

    Most series are worth nearly as many runs as they have, and a transform of a million values takes ten times their
    memory.
    """
    count = len(values)
    centred = values - values.mean()
    lags = min(LAGS, count) // 2 * 2
    covariance = np.array([dot(centred[: count - lag], centred[lag:]) for lag in range(lags)])
    sums = covariance.reshape(-1, 2).sum(axis=1)
    if covariance[0] > 0.0 and (sums.min() <= 0.0 or lags >= count - 1):
        return np.asarray(sums / covariance[0])
    return np.asarray(correlations(values)[: count - count % 2].reshape(-1, 2).sum(axis=1))


def effective_size(values: npt.ArrayLike) -> float:
    """Return n / tau: the number of independent values that would give the mean as well."""
    x = series(values, "The series", 1)
    return len(x) / correlation_time(x)


def mean_error(values: Floats) -> tuple[float, float]:
    """Return the standard error of the mean of a correlated series, and its degrees of freedom; (inf, 0) below two
    values."""
    count = len(values)
    if count < 2:
        return math.inf, 0.0
    independent_runs = count / correlation_time(values)
    # The variance about the sample mean misses the variance of that mean: its expectation is sigma^2 (1 - 1/worth).
    variance = float(values.var()) / (1.0 - 1.0 / independent_runs)
    return math.sqrt(variance / independent_runs), independent_runs - 1.0
