"""The contaminated normal distribution (Tukey 1960): most values scatter by `core`, a share of them five times as much.

A model of sittings of a benchmark, of which a few are bad for no reason that anybody knows. Its likelihood says how
much a stray value tells: little, and not nothing. Everything here is on few values and called often, so it is written
in plain numbers, but for the scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from becalm.stats.arrays import Floats

WIDER = 5.0
"""How much more stray values scatter. The evidence of a value is bounded by its logarithm and that of their share."""

LEAST, MOST = 0.002, 0.2
"""Shares of stray values that are believed."""

_ROUNDS = 4
_WIDE = 1 / WIDER**2


@dataclass(frozen=True, slots=True)
class Noise:
    """Standard deviation of values that do not stray, NaN where it is unknown, and the share of those that do."""

    core: float = math.nan
    stray: float = 0.02

    def weight(self, distance: float) -> float:
        """What a value so far from its level tells of it, from 1 for the usual to 1 / 25 for a stray one."""
        squared = (distance / self.core) ** 2
        usual = (1 - self.stray) * math.exp(-squared / 2)
        odd = self.stray / WIDER * math.exp(max(-700.0, -squared * _WIDE / 2))
        return (usual + odd * _WIDE) / (usual + odd)

    def likelihood(self, values: Sequence[float], level: float) -> float:
        """Logarithm of the density of values at this level, but for a constant."""
        total = 0.0
        for each in values:
            squared = (each - level) ** 2 / self.core**2
            rest = -squared * _WIDE / 2
            more = (1 - self.stray) * math.exp(-squared / 2 - rest) + self.stray / WIDER
            total += rest + math.log(more)
        return total

    def location(self, values: Sequence[float], start: float) -> float:
        """The level of greatest likelihood that iteration from here leads to (expectation and maximisation)."""
        level = start
        for _ in range(_ROUNDS):
            weights = [self.weight(each - level) for each in values]
            level = _product(weights, values) / sum(weights)
        return level

    def evidence(self, before: Sequence[float], after: Sequence[float], spread: float) -> tuple[float, float, float]:
        """How much likelier two levels are than one: both, and the root of twice the logarithm of the ratio.

        Without a step the second level differs from the first by a normal deviation of this variance, `spread`. For
        normal values the root is the step in its standard deviations; it is about that for contaminated ones.
        """
        old = self.location(before, _median(before))
        new = max(
            (self.location(after, start) for start in (_median(after), sum(after) / len(after))),
            key=lambda level: self.likelihood(after, level),
        )
        two = self.likelihood(before, old) + self.likelihood(after, new)
        one = max(self._one(before, after, spread, start) for start in (old, (old + new) / 2))
        return old, new, math.sqrt(max(0.0, 2 * (two - one)))

    def _one(self, before: Sequence[float], after: Sequence[float], spread: float, start: float) -> float:
        """Logarithm of the greatest likelihood of one level and a deviation from it, from this level on."""
        level, off = start, 0.0
        for _ in range(_ROUNDS):
            old = [self.weight(each - level) for each in before]
            new = [self.weight(each - level - off) for each in after]
            left, right = sum(old), sum(new)
            told = 1 / (1 / right + spread / self.core**2)
            middle = _product(new, after) / right
            level = (_product(old, before) + told * middle) / (left + told)
            off = spread / self.core**2 * told * (middle - level)
        penalty = off**2 / (2 * spread) if spread > 0 else 0.0
        return self.likelihood(before, level) + self.likelihood(after, level + off) - penalty


def noise_of(differences: Floats, last: Noise, usual: float, peers: float) -> Noise:
    """Noise of a series from its successive differences, which a drift or a step hardly touches.

    Arguments:
        differences: shape (n,), at least one of them not 0.
        last: where to begin; one whose core is NaN begins at the median of the differences.
        usual, peers: the share of stray values that others have, and how many values that is worth.
    """
    squares = np.square(differences)
    variance = last.core**2 if last.core > 0 else float(np.median(squares)) / 0.455 / 2
    if not variance > 0:
        variance = float(squares.mean()) / 2
    share = last.stray
    # A difference is of two values, of which none, one or both stray.
    spreads = np.array([2.0, 1 + WIDER**2, 2 * WIDER**2])[:, None]
    for _ in range(_ROUNDS):
        parts = np.array([(1 - share) ** 2, 2 * share * (1 - share), share**2])[:, None] / np.sqrt(spreads)
        density = parts * np.exp(-np.minimum(squares / (2 * spreads * variance), 700.0))
        chance = density / density.sum(axis=0)
        variance = float((squares * (chance / spreads).sum(axis=0)).mean())
        seen = float((chance[1] + 2 * chance[2]).mean()) / 2
        share = min(MOST, max(LEAST, (len(squares) * seen + peers * usual) / (len(squares) + peers)))
        if not variance > 0:
            return Noise(math.nan, share)
    return Noise(math.sqrt(variance), share)


def _product(weights: Sequence[float], values: Sequence[float]) -> float:
    return sum([weight * each for weight, each in zip(weights, values, strict=True)])


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
