"""The search for the next place on a learnt surface: the place with the largest expected improvement.

The expected improvement (Mockus, Tiesis & Zilinskas 1978; Jones, Schonlau & Welch 1998) is that of the surface itself,
not of a noisy run, over the best measured place, from the joint distribution of both. It is reduced where runs failed.
The search starts from places scattered over the space and about the best ones, and climbs from the best of them in all
factors together.

`sequential` calls `next_place` with a `SurfaceProcess`, the measured places and the failed ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from scipy.special import ndtr

from becalm.methods.surface_process import SurfaceProcess
from becalm.nouns.factor import Factor
from becalm.stats.arrays import Floats

SCATTERED, NEAR = 64, 64
"""The numbers of starting places over the whole space, and about the best ones."""

WIDTHS = (0.6, 0.25, 0.1)
"""The standard deviations of the starting places about the best ones, in coded units."""

ROUNDS = 4
"""The number of steps uphill."""

FAILING = 0.35
"""The distance from a failed run within which others are expected to fail, in coded units for each factor."""

FINEST = 0.02
"""The smallest step uphill, in coded units."""


class SearchState(msgspec.Struct, frozen=True):
    """The results of a search. `best`: the best places, about which the search looks, shape (m, factors).

    `worked`, `failed`: the places of good and of failed runs, shape (n, factors).
    """

    factors: tuple[Factor, ...]
    best: Floats
    worked: Floats
    failed: Floats


def next_place(process: SurfaceProcess, known: SearchState, rng: np.random.Generator, *, daring: bool = True) -> Floats:
    """Return the place with the largest expected improvement over the best one, shape (factors,).

    If not `daring`, it is the place with the lowest expected value, regardless of uncertainty.
    """
    search = _Climb(process, known, daring)
    at, worth = search.top(np.vstack([scatter(known.factors, SCATTERED, rng), _near(known, rng)]))
    step = 0.25
    for _ in range(ROUNDS):
        better, gained = search.uphill(at, worth, step)
        step = step if gained > worth else step / 3
        at, worth = (better, gained) if gained > worth else (at, worth)
        if step < FINEST:
            break
    return at


def scatter(factors: Sequence[Factor], count: int, rng: np.random.Generator) -> Floats:
    """Return uniformly drawn places, shape (count, factors), in coded units; choices are numbered."""
    places = rng.uniform(-1.0, 1.0, (count, len(factors)))
    for index, factor in enumerate(factors):
        if factor.categorical:
            places[:, index] = rng.integers(len(factor.choices), size=count)
    return places


def _near(known: SearchState, rng: np.random.Generator) -> Floats:
    """Return places about the best ones, with some factors moved on several scales, shape (NEAR, factors)."""
    count, size = NEAR, len(known.factors)
    base = known.best[np.arange(count) % len(known.best)]
    width = np.array(WIDTHS)[rng.integers(len(WIDTHS), size=count)][:, None]
    moved = rng.random((count, size)) < np.maximum(0.3, 1.0 / size)
    steps = np.where(moved, width * rng.standard_normal((count, size)), 0.0)
    result = np.clip(base + steps, -1.0, 1.0)
    for index, factor in enumerate(known.factors):
        if factor.categorical:
            other = rng.integers(len(factor.choices), size=count)
            result[:, index] = np.where(moved[:, index], other, base[:, index])
    return result


class _Climb:
    """The expected improvement over the best place, and steps uphill on it."""

    def __init__(self, process: SurfaceProcess, known: SearchState, daring: bool) -> None:
        self.daring = daring
        self.process, self.known = process, known
        self.base = known.best[0]
        self.level = float(process.expected(self.base[None])[0])
        self.from_base = process.against(self.base)
        self.choices = np.array([len(factor.choices) for factor in known.factors])

    def worth(self, places: Floats) -> Floats:
        """Return the expected improvement at places, shape (m,)."""
        if not self.daring:
            gain = self.level - self.process.expected(places)
            return np.asarray(np.where(gain > 0, gain * self.works(places), gain))
        mean, error = self.from_base(places)
        gain = self.level - mean
        z = gain / np.maximum(error, 1e-12)
        density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        return np.asarray((gain * ndtr(z) + error * density) * self.works(places))

    def works(self, places: Floats) -> Floats:
        """Return the probability that a run ends well at places, from the share of good runs nearby, shape (m,)."""
        if not len(self.known.failed):
            return np.ones(len(places))
        good, bad = (self._nearby(places, runs) for runs in (self.known.worked, self.known.failed))
        return np.asarray((good + 0.1) / (good + bad + 0.1))

    def _nearby(self, places: Floats, runs: Floats) -> Floats:
        away = places[:, None, :] - runs[None, :, :]
        away = np.where(self.choices > 0, away != 0, away)
        return np.asarray(np.exp(-0.5 * (away**2).sum(axis=2) / (FAILING**2 * places.shape[1])).sum(axis=1))

    def top(self, places: Floats) -> tuple[Floats, float]:
        """Return the best of some places, and its worth."""
        worth = self.worth(places)
        index = int(np.argmax(worth))
        return places[index], float(worth[index])

    def uphill(self, at: Floats, worth: float, step: float) -> tuple[Floats, float]:
        """Climb one round: each factor to both sides, then all of them by their parabolas; return place and worth."""
        ranges = np.flatnonzero(self.choices == 0)
        moves = []
        for sign in (1.0, -1.0):
            sides = np.repeat(at[None], len(ranges), axis=0)
            sides[np.arange(len(ranges)), ranges] = np.clip(at[ranges] + sign * step, -1.0, 1.0)
            moves.append(sides)
        for index in np.flatnonzero(self.choices):
            others = [choice for choice in range(self.choices[index]) if choice != at[index]]
            changed = np.repeat(at[None], len(others), axis=0)
            changed[:, index] = others
            moves.append(changed)
        tried = np.vstack(moves)
        worths = self.worth(tried)
        best = int(np.argmax(worths))
        count = len(ranges)
        up, down = worths[:count], worths[count : 2 * count]
        bend = up + down - 2 * worth
        slope = (up - down) / 2
        newton = np.where(bend < 0, -slope / np.where(bend < 0, bend, -1.0), np.sign(slope))
        target = np.repeat(at[None], 3, axis=0)
        for row, share in enumerate((1.0, 0.5, 0.25)):
            target[row, ranges] = np.clip(at[ranges] + share * step * np.clip(newton, -2, 2), -1.0, 1.0)
        top, gained = self.top(target)
        return (top, gained) if gained > worths[best] else (tried[best], float(worths[best]))
