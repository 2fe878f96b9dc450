"""Bootstrap intervals for statistics without a formula, from independent values or blocks of a series."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, level, series
from becalm.stats.effective_sample_size import correlation_time
from becalm.stats.normal import ndtr, ndtri

Statistic = Callable[[Floats], Floats]
"""A function from samples, shape (resamples, n), to one number for each, such as `lambda s: np.median(s, axis=1)`."""

AT_ONCE = 1 << 20
"""The number of values that are resampled at a time, which limits memory."""


def percentile(
    values: npt.ArrayLike,
    statistic: Statistic,
    rng: np.random.Generator,
    *,
    confidence: float = 0.95,
    resamples: int = 9999,
) -> tuple[float, float]:
    """Return the percentile interval of independent values (Efron 1979, Ann. Stat. 7:1). Raises ValueError for bad
    values."""
    x = series(values, "The sample", 2)
    return _percentiles(_replicates(x, statistic, _independent_indices(len(x), resamples, rng)), confidence)


def bca(
    values: npt.ArrayLike,
    statistic: Statistic,
    rng: np.random.Generator,
    *,
    confidence: float = 0.95,
    resamples: int = 9999,
) -> tuple[float, float]:
    """Return the bias-corrected and accelerated interval of independent values (Efron 1987, J. Am. Stat. Assoc.
    82:171).

    Second-order correct, where the percentile interval is first-order. Raises ValueError for bad values.
    """
    x = series(values, "The sample", 2)
    alpha = level(1 - confidence)
    replicates = np.sort(_replicates(x, statistic, _independent_indices(len(x), resamples, rng)))
    estimate = float(statistic(x[None, :])[0])
    below = (np.count_nonzero(replicates < estimate) + np.count_nonzero(replicates <= estimate)) / (2 * len(replicates))
    if below in (0.0, 1.0):
        return float(replicates[0]), float(replicates[-1])
    bias = float(ndtri(below))
    leave_one_out = np.array([float(statistic(np.delete(x, i)[None, :])[0]) for i in range(len(x))])
    pull = leave_one_out.mean() - leave_one_out
    square = float((pull**2).sum())
    acceleration = float((pull**3).sum()) / (6 * square**1.5) if square > 0.0 else 0.0
    z = bias + ndtri(np.array([alpha / 2, 1 - alpha / 2]))
    low, high = np.quantile(replicates, ndtr(bias + z / (1 - acceleration * z)))
    return float(low), float(high)


def block(
    values: npt.ArrayLike,
    statistic: Statistic,
    rng: np.random.Generator,
    *,
    length: int | None = None,
    confidence: float = 0.95,
    resamples: int = 1999,
) -> tuple[float, float]:
    """Return the percentile interval of a correlated series from circular blocks (Politis & Romano 1992, in Exploring
    the Limits of Bootstrap).

    `length`: length of a block in runs; by default n^(1/3) times tau^(2/3) with the correlation time tau, the order
    that Künsch (1989, Ann. Stat. 17:1217) shows to be best for an autoregression. The interval is too short where the
    series is not many times longer than tau. Raises ValueError for bad values or a length that does not fit.
    """
    x = series(values, "The series", 2)
    count = len(x)
    if length is None:
        length = min(count // 2, max(1, math.ceil(count ** (1 / 3) * correlation_time(x) ** (2 / 3))))
    if not 1 <= length <= count:
        raise ValueError(f"A block must have 1 to {count} runs of this series, not {length}.")
    number = math.ceil(count / length)

    def indices() -> Iterator[npt.NDArray[np.int64]]:
        for rows in _portions(count, resamples):
            starts = rng.integers(count, size=(rows, number, 1))
            yield ((starts + np.arange(length)) % count).reshape(rows, -1)[:, :count]

    return _percentiles(_replicates(x, statistic, indices()), confidence)


def _independent_indices(count: int, resamples: int, rng: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    for rows in _portions(count, resamples):
        yield rng.integers(count, size=(rows, count))


def _portions(count: int, resamples: int) -> Iterator[int]:
    most = max(1, AT_ONCE // count)
    for done in range(0, resamples, most):
        yield min(most, resamples - done)


def _replicates(x: Floats, statistic: Statistic, indices: Iterator[npt.NDArray[np.int64]]) -> Floats:
    return np.concatenate([statistic(x[index]) for index in indices])


def _percentiles(replicates: Floats, confidence: float) -> tuple[float, float]:
    alpha = level(1 - confidence)
    low, high = np.quantile(replicates, (alpha / 2, 1 - alpha / 2))
    return float(low), float(high)
