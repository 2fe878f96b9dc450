"""Kinds of noise of a simulated machine: endless series with mean 0 and variance 1, from a seed.

The values of a series do not depend on the number taken at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate

import numpy as np

from becalm.stats.arrays import Floats

CHUNK = 256
"""The number of values drawn at a time, large enough that a run costs less than a microsecond."""

Draw = Callable[[], Floats]
"""A function that returns the next CHUNK values."""


def _normal(rng: np.random.Generator) -> Draw:
    return lambda: rng.standard_normal(CHUNK)


def _heavy(rng: np.random.Generator) -> Draw:
    # Student's t with 5 degrees of freedom: a kurtosis of 9, variance 5/3.
    return lambda: np.asarray(rng.standard_t(5, CHUNK), dtype=np.float64) * math.sqrt(3 / 5)


def _bimodal(rng: np.random.Generator) -> Draw:
    # Three runs in ten are slow, as with a frequency that is sometimes not reached.
    return lambda: np.asarray((rng.random(CHUNK) < 0.3) - 0.3, dtype=np.float64) / math.sqrt(0.3 * 0.7)


def _drift(rng: np.random.Generator) -> Draw:
    # Autocorrelation 0.93 at lag 1, as measured on a shared virtual machine.
    phi, level = 0.93, float(rng.standard_normal())

    def draw() -> Floats:
        nonlocal level
        white = math.sqrt(1 - phi * phi) * rng.standard_normal(CHUNK)
        # This is as fast for few values as scipy.signal, whose import takes longer than a short simulation.
        values = [*accumulate(white.tolist(), lambda before, new: new + phi * before, initial=level)][1:]
        level = values[-1]
        return np.array(values)

    return draw


def _bursts(rng: np.random.Generator) -> Draw:
    # Ten quiet runs on average, then three with extra time of exponential size: with 3 of 13 runs, the mean is 3/13 and
    # the mean square 6/13.
    mean, spread, on = 3 / 13, math.sqrt(6 / 13 - (3 / 13) ** 2), False

    def draw() -> Floats:
        nonlocal on
        chance, state = rng.random(CHUNK), np.empty(CHUNK, dtype=bool)
        for index, value in enumerate(chance):
            on = bool(value >= 1 / 3) if on else bool(value < 1 / 10)
            state[index] = on
        return (np.where(state, rng.exponential(size=CHUNK), 0.0) - mean) / spread

    return draw


KINDS: dict[str, Callable[[np.random.Generator], Draw]] = {
    "normal": _normal,
    "heavy": _heavy,
    "bimodal": _bimodal,
    "drift": _drift,
    "bursts": _bursts,
}
"""The kinds of noise, by name."""


class DisturbanceSeries:
    """An endless series of one kind of noise."""

    def __init__(self, kind: str, rng: np.random.Generator) -> None:
        self._draw = KINDS[kind](rng)
        self._left: Floats = np.empty(0)

    def take(self, count: int) -> Floats:
        """Return the next values, shape (count,)."""
        while len(self._left) < count:
            self._left = np.concatenate((self._left, self._draw()))
        values, self._left = self._left[:count], self._left[count:]
        return values
