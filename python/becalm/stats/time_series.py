"""Tests of one program's runs in their order: correlation, warm-up, drift, levels, period, two modes, outliers.

Every test has the false-alarm rate LEVEL, on white noise and on noise that is correlated in time;
docs/explanation/statistics.md has the measurements. All but `outliers` use only the order of the values, so the shape
of their distribution does not matter.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, dot, median_of, medians_of, quantiles, series
from becalm.stats.bimodality import Modes, bimodal
from becalm.stats.effective_sample_size import correlation_time, correlations
from becalm.stats.huber import NORMAL_MAD, scale
from becalm.stats.levels import Levels, levels
from becalm.stats.normal import ndtri
from becalm.stats.normal_scores import memory, normal_scores
from becalm.stats.periodogram import Period, period
from becalm.stats.student import gammaincc, stdtr

__all__ = [
    "LEVEL",
    "Autocorrelation",
    "Drift",
    "Levels",
    "Modes",
    "Outliers",
    "Period",
    "Warmup",
    "autocorrelation",
    "bimodal",
    "drift",
    "levels",
    "outliers",
    "period",
    "warmup",
]

LEVEL = 0.01
"""The rate of false detections of each test."""

FEWEST = 20
"""The fewest runs for a detection."""


class Autocorrelation(msgspec.Struct, frozen=True):
    """The correlations of the series with itself at distances of `lags` runs. `detected`: it is not white noise."""

    detected: bool
    lags: tuple[int, ...]
    values: tuple[float, ...]
    p_value: float


def autocorrelation(x: npt.ArrayLike, lags: int = 10) -> Autocorrelation:
    """Return the autocorrelation of the normal scores at 1…`lags`, tested jointly by Ljung & Box (1978, Biometrika
    65:297).

    `x`: shape (n,); `lags` is limited to a quarter of the runs. Raises ValueError for an empty series or one that is
    not finite.
    """
    values = series(x, "The series of times")
    count, most = len(values), max(1, min(lags, len(values) // 4))
    if count < FEWEST or values.min() == values.max():
        return Autocorrelation(False, (), (), 1.0)
    rho = correlations(normal_scores(values))[1 : most + 1]
    tested_lags = np.arange(1, most + 1)
    statistic = count * (count + 2) * float((rho * rho / (count - tested_lags)).sum())
    p_value = float(gammaincc(most / 2, statistic / 2))
    return Autocorrelation(p_value < LEVEL, tuple(tested_lags.tolist()), tuple(rho.tolist()), p_value)


class Warmup(msgspec.Struct, frozen=True):
    """The test whether the first runs were slower: the first `drop` took `excess` (fraction) longer than the rest."""

    detected: bool
    drop: int
    excess: float
    p_value: float


def warmup(x: npt.ArrayLike) -> Warmup:
    """Compare the first 2, 4, 8, … runs, up to half of them, with the later ones.

    The smallest p value times their number counts (Bonferroni). Variance and autocorrelation are those of the second
    half, which has warmed up if anything has (`becalm.stats.normal_scores.memory`): the mean of k correlated runs
    varies more than sigma^2 / k. A single slow first run is detected when it is the slowest of all and 8 robust
    standard deviations beyond the median. First runs with the median of the others are no warm-up. The warm-up ends
    where dropping one more run would no longer help: the marginal standard error rule (MSER, White 1997, Simulation
    69:323) on the scores. Raises ValueError for an empty series or one that is not finite.
    """
    values = series(x, "The series of times")
    count = len(values)
    no_warmup = Warmup(False, 0, 0.0, 1.0)
    if count < FEWEST or values.min() == values.max():
        return no_warmup
    scores = normal_scores(values)
    late = scores[count // 2 :]
    noise = memory(late)
    # The variance of a constant late half is unknown: all values together give that of a permutation test.
    late = late if late.min() < late.max() else scores
    worth = max(2.0, len(late) / noise.time)
    variance = float(late.var()) / (1 - 1 / worth)
    sizes = 2 ** np.arange(1, int(math.log2(count / 2)) + 1)
    error = np.sqrt(variance * (noise.mean_of(sizes.astype(float)) + noise.mean_of((count - sizes).astype(float))))
    total = np.cumsum(scores)
    gap = total[sizes - 1] / sizes - (total[-1] - total[sizes - 1]) / (count - sizes)
    p_value = min(1.0, stdtr(worth - 1, float((-gap / error).min())) * (len(sizes) + 1))
    spread = scale(values - median_of(values))
    if p_value >= LEVEL:
        first_stands_out = values[0] >= values.max() and values[0] > median_of(values) + 8 * spread
        return Warmup(True, 1, _excess(values, 1), 1 / count) if first_stands_out else no_warmup
    drop = max(_warmup_end(scores), 1)
    excess = _excess(values, drop)
    # A median that stays within the resolution of the values is not a warm-up.
    return Warmup(True, drop, excess, p_value) if excess > 0 else no_warmup


def _warmup_end(scores: Floats) -> int:
    """Return the number of first values, at most half, whose removal minimises the standard error of the mean."""
    remaining = np.arange(len(scores), 0, -1)
    total, square = np.cumsum(scores[::-1])[::-1], np.cumsum(scores[::-1] ** 2)[::-1]
    return int(np.argmin(((square - total * total / remaining) / (remaining * remaining))[: len(scores) // 2 + 1]))


def _excess(values: Floats, drop: int) -> float:
    late = median_of(values[drop:])
    return median_of(values[:drop]) / late - 1.0 if late else 0.0


class Drift(msgspec.Struct, frozen=True):
    """The test whether times rise or fall over the whole series; `change` from first to last run, as a fraction."""

    detected: bool
    change: float
    p_value: float


BLOCKS = 50


def drift(x: npt.ArrayLike) -> Drift:
    """Return the trend of the series, by regression of the normal scores on the order of runs.

    Its standard error is multiplied by the root of the correlation time of the residuals, the longer of Geyer's and
    that of `becalm.stats.normal_scores.memory`, so that slow oscillations are not called a trend. The change is Theil &
    Sen's median slope (Sen 1968, J. Am. Stat. Assoc. 63:1379) of at most 50 block medians. Raises ValueError for an
    empty series or one that is not finite.
    """
    values = series(x, "The series of times")
    count = len(values)
    if count < FEWEST or values.min() == values.max():
        return Drift(False, 0.0, 1.0)
    scores = normal_scores(values)
    order = np.arange(count, dtype=np.float64) - (count - 1) / 2.0
    square = dot(order, order)
    slope = dot(order, scores) / square
    residuals = scores - slope * order
    tau = max(memory(residuals, 2).time, correlation_time(residuals * order))
    # The relative error of tau is about the root of 2 tau / n; a trend must show in spite of that.
    tau *= 1 + 2 * math.sqrt(tau / count)
    freedom = count / tau - 2.0
    if freedom < 1.0:
        return Drift(False, _change(values), 1.0)
    error = math.sqrt(dot(residuals, residuals) / (count - 2) * tau / square * (count / tau) / freedom)
    p_value = 2 * float(stdtr(freedom, -abs(slope) / error)) if error > 0.0 else 0.0
    return Drift(p_value < LEVEL, _change(values), p_value)


def _change(values: Floats) -> float:
    blocks = np.array_split(values, min(BLOCKS, len(values)))
    middle = np.array([median_of(block) for block in blocks])
    first, second = np.triu_indices(len(blocks), 1)
    per_block = median_of((middle[second] - middle[first]) / (second - first))
    start = median_of(middle) - per_block * len(blocks) / 2
    return per_block * len(blocks) / start if start else 0.0


class Outliers(msgspec.Struct, frozen=True):
    """The runs far from their neighbours: their `indices`, in order, and the `threshold` of the modified z score."""

    detected: bool
    indices: tuple[int, ...]
    threshold: float


WINDOW = 21
CHUNK = 1 << 14


def outliers(x: npt.ArrayLike) -> Outliers:
    """Return the runs far from the median of the 21 around them, in robust standard deviations of those distances.

    Modified z scores (Iglewicz & Hoaglin 1993, How to Detect and Handle Outliers) of the logarithm, around a local
    median, so that a drift makes none. Their threshold is 3.5; here it is the value that a normal series of this length
    exceeds with probability LEVEL, at least 3.5. Raises ValueError for an empty series or one that is not finite.
    """
    values = series(x, "The series of times")
    count = len(values)
    threshold = max(3.5, float(ndtri(1 - LEVEL / (2 * count)))) * (1 + 2 / math.sqrt(count))
    if count < FEWEST:
        return Outliers(False, (), threshold)
    logs = np.log(values) if values.min() > 0.0 else values
    residuals = logs - _local_median(logs)
    half, most = quantiles(np.abs(residuals), 0.5, 0.9)
    spread = max(NORMAL_MAD * half, most / 1.645)
    if spread == 0.0:
        return Outliers(False, (), threshold)
    indices = np.flatnonzero(np.abs(residuals) > threshold * spread)
    return Outliers(len(indices) > 0, tuple(indices.tolist()), threshold)


def _local_median(values: Floats) -> Floats:
    """Return the median of the WINDOW values around each; at the ends that of the first and last WINDOW."""
    width = min(WINDOW, len(values))
    windows = np.lib.stride_tricks.sliding_window_view(values, width)
    middle = np.concatenate([medians_of(windows[start : start + CHUNK]) for start in range(0, len(windows), CHUNK)])
    return np.pad(middle, (width // 2, len(values) - len(middle) - width // 2), mode="edge")
