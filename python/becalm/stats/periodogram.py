"""The test for a rhythm in a series of run times."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats, dot, medians_of, series
from becalm.stats.normal_scores import memory, normal_scores

LEVEL = 0.01
FEWEST = 40
SLOWEST = 8
"""The fewest repetitions of a rhythm in a series; fewer are a slow oscillation."""

NEIGHBOURS = 100
"""The number of neighbouring frequencies that determine the noise; a third of that for the lowest, where it is
steep."""


class Period(msgspec.Struct, frozen=True):
    """The strongest rhythm: `period` in runs, `share` of the variance of the scores that it explains."""

    detected: bool
    period: float
    share: float
    p_value: float


def period(x: npt.ArrayLike) -> Period:
    """Return the strongest line of the periodogram over a red-noise background.

    The periodogram is that of the normal scores of the series, shape (n,), less a line, divided by the spectrum of
    `becalm.stats.normal_scores.memory`, so that slow oscillations are no rhythm. Each ordinate is then divided by the
    median of its hundred neighbours over ln 2. For noise such a ratio R exceeds r with probability (1 + r / k)^-k, k =
    0.48 neighbours (the ratio of an exponential variable to a median of them; Fisher 1929, Proc. R. Soc. A 125:54,
    divides by the mean, which a second line would raise); the smallest p value counts for all frequencies together.
    Raises ValueError for an empty series or one that is not finite.
    """
    values = series(x, "The series of times")
    count = len(values)
    if count < FEWEST or values.min() == values.max():
        return Period(False, 0.0, 0.0, 1.0)
    scores = normal_scores(values)
    order = np.arange(count, dtype=np.float64) - (count - 1) / 2
    scores = scores - scores.mean() - dot(order, scores) / dot(order, order) * order
    power = np.abs(np.fft.rfft(scores)[1 : (count - 1) // 2 + 1]) ** 2
    power = power / memory(scores, 2).spectrum(np.arange(1, len(power) + 1) / count)
    wide, narrow = (_background(power, min(width, len(power))) for width in (NEIGHBOURS, NEIGHBOURS // 3))
    low = np.arange(len(power)) < NEIGHBOURS // 2
    background = np.where(low, narrow, wide) + 1e-12 * float(power.max())
    freedom = 0.48 * np.minimum(np.where(low, NEIGHBOURS // 3, NEIGHBOURS), len(power))
    logs = -freedom * np.log1p(power / background / freedom)
    logs[: SLOWEST - 1] = 0.0
    best = int(np.argmin(logs))
    single = math.exp(float(logs[best]))
    p_value = -math.expm1(len(power) * math.log1p(-min(single, 1 - 1e-16)))
    length = count / (best + 1)
    wave = np.exp(-2j * np.pi * np.arange(count) / length)
    share = 2 * float(np.abs((scores * wave).sum())) ** 2 / (count * dot(scores, scores))
    return Period(p_value < LEVEL, length, min(share, 1.0), p_value)


def _background(power: Floats, width: int) -> Floats:
    """Return the median of `width` ordinates around each, over ln 2: the mean of noise, which a line does not raise."""
    stride = max(1, width // 10)
    middle = medians_of(np.lib.stride_tricks.sliding_window_view(power, width)[::stride])
    centres = np.arange(len(middle)) * stride + (width - 1) / 2
    return np.interp(np.arange(len(power)), centres, middle) / math.log(2)
