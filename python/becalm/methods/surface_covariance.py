"""The covariance of a surface at two sets of places, as few products of matrices: what `surface_process` learns with.

`Weights` are the numbers that runs decide, `CovariancePlaces` some places as columns of numbers, and `Side` such places
with weights put to them: `Side.covariance` is of them and any others. The model is in `becalm.methods.surface_process`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from becalm.nouns.factor import Factor
from becalm.stats.arrays import Floats

CURVED, CURVED_SPREAD = 0.6, 0.4
"""Curvature of a factor of relevance 1: mean and standard deviation of what all factors share of it."""

BENT = 0.5
"""Standard deviation of the curvature that a factor has by itself."""

CROSSED = 0.5
"""Standard deviation of the interaction of two factors of relevance 1."""

LEVEL = 25.0
"""Variance of the level, and of how the machine as it is differs from all places: as good as unknown."""

PRIOR = {"relevance": (0.6, 1.0), "rest": (0.15, 1.0), "length": (0.5, 0.6), "noise": (0.1, 1.2), "block": (0.05, 1.0)}
"""Median and logarithmic standard deviation of each weight, in standard deviations of the response."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Logarithms of: relevance of each factor, size and length of the rest, noise, difference between blocks."""

    logs: Floats

    @classmethod
    def usual(cls, factors: int) -> Weights:
        """Return the weights of the largest prior density."""
        return cls(prior(factors)[0].copy())

    @property
    def relevance(self) -> Floats:
        """The relevance of each factor, shape (factors,)."""
        return np.asarray(np.exp(self.logs[:-4]))

    @property
    def others(self) -> tuple[float, float, float, float]:
        """Size and length of the rest, standard deviations of noise and of blocks."""
        rest, length, noise, block = np.exp(self.logs[-4:])
        return float(rest), float(length), float(noise), float(block)


def prior(factors: int) -> tuple[Floats, Floats]:
    """Return the means and standard deviations of the logarithms of all weights."""
    names = ["relevance"] * factors + ["rest", "length", "noise", "block"]
    return np.log([PRIOR[name][0] for name in names]), np.array([PRIOR[name][1] for name in names])


class Columns:
    """Places as columns of numbers, one for a range and one for each choice, so that covariances are products of them.

    What two places have in common in a factor: x x' in a range; 1 in the same choice and `unlike` in another one, so
    that all choices of a factor together are at 0. `of`: the factor of each column.
    """

    def __init__(self, factors: Sequence[Factor]) -> None:
        self.counts = np.array([len(factor.choices) for factor in factors])
        self.of = np.repeat(np.arange(len(factors)), np.maximum(1, self.counts))
        self.first = np.flatnonzero(np.r_[True, np.diff(self.of) > 0])
        self.ranges = self.counts == 0
        self.choice = ~self.ranges[self.of]
        self.number = np.arange(len(self.of)) - self.first[self.of]
        self.unlike = np.where(self.ranges, 0.0, -1 / np.maximum(1, self.counts - 1))
        self.plain = bool(self.ranges.all())
        """Whether all factors are ranges."""

    def numbers(self, places: Floats) -> Floats:
        """Return the columns of places, shape (columns, n)."""
        if self.plain:
            return places.T
        found = places.T[self.of]
        return np.where(self.choice[:, None], found == self.number[:, None], found)

    def bends(self, places: Floats) -> Floats:
        """Return how far each range is bent away from its middle, shape (factors, n); 0 for choices."""
        bent = places.T**2 - 1 / 3
        return bent if self.plain else np.where(self.ranges[:, None], bent, 0.0)

    def products(self, change: Floats, one: Floats, power: int) -> Floats:
        """Return for each factor the sum over pairs of places of `change` times their product, shape (factors,)."""
        columns = np.einsum("ij,ij->i", one**power @ change, one**power)
        unlike = self.unlike**power
        return np.asarray((1 - unlike) * np.add.reduceat(columns, self.first) + unlike * float(change.sum()))

    def fars(self, change: Floats, one: Floats) -> Floats:
        """Return for each factor the sum over pairs of places of a symmetric `change` times their squared distance."""
        columns = 2 * (one**2 @ change.sum(axis=1)) - 2 * np.einsum("ij,ij->i", one @ change, one)
        return np.asarray(np.add.reduceat(np.where(self.choice, 0.5, 1.0) * columns, self.first))


class CovariancePlaces:
    """Some places, ready for covariances."""

    def __init__(self, columns: Columns, places: Floats) -> None:
        self.columns = columns
        self.numbers, self.bends = columns.numbers(places), columns.bends(places)
        self.squares = self.numbers**2


class Side:
    """Places with weights put to them: one side of covariances.

    With a the relevances: level + sum a u + (sum a u)^2 less its squares + curvatures + rest, where u is what two
    places have in common in a factor (`Columns`). All but the square and the rest is one product of matrices.
    """

    def __init__(self, places: CovariancePlaces, weights: Weights) -> None:
        columns, a = places.columns, weights.relevance
        self.places, self.relevance = places, a
        self.size, self.length, _, _ = weights.others
        unlike, of = columns.unlike, columns.of
        crossed = CROSSED**2 / 2
        each, twice = a * (1 - unlike), a**2 * (1 - unlike)
        self._slopes = (each[of][:, None] * places.numbers).T
        self._level = float(a @ unlike)
        squares = a**2 * (1 - unlike**2)
        self._stacked = np.vstack(
            [
                (-crossed * squares)[of][:, None] * places.squares,
                twice[of][:, None] * places.numbers,
                (BENT**2 * a**2)[:, None] * places.bends,
                CURVED_SPREAD**2 * (a @ places.bends),
            ]
        ).T
        self._constant = LEVEL + float(a**2 @ unlike) - crossed * float(a**2 @ unlike**2)
        # Of a distance, other choices are 1 away.
        self._far = np.where(columns.choice, 0.5, 1.0) * a[of] / (2 * self.length**2)
        self._mixed = (2 * self._far[:, None] * places.numbers).T
        self._own = self._far @ places.squares

    def parts(self, other: CovariancePlaces) -> tuple[Floats, Floats]:
        """Return the common part of slopes of here and there, and the covariance of the rest. Both of shape (n, m)."""
        return self._linear(other), self._near(other)

    def covariance(self, other: CovariancePlaces, parts: tuple[Floats, Floats] | None = None) -> Floats:
        """Return the covariance of the surface here and there, level included, shape (n, m)."""
        linear, near = parts or self.parts(other)
        found = linear**2
        found *= CROSSED**2 / 2
        found += self._stacked @ self._features(other)
        found += self._constant
        found += near
        return np.asarray(found)

    def weighted(self, by: Floats) -> _Weighted:
        """Return the sum over these places, each times a number, of their covariance with others."""
        u = self._slopes
        return _Weighted(
            self,
            by,
            # (u x + level)^2, each times its number, is a quadratic form in x.
            CROSSED**2 / 2 * (u.T * by) @ u,
            CROSSED**2 * self._level * (by @ u),
            by @ self._stacked,
            float(by.sum()) * (self._constant + CROSSED**2 / 2 * self._level**2),
        )

    def variance(self, other: CovariancePlaces) -> Floats:
        """Return the variance of the surface at other places with the same weights, level included, shape (m,)."""
        a, columns = self.relevance, other.columns
        one = other.squares if columns.plain else np.where(columns.ranges[:, None], other.squares[columns.first], 1.0)
        crossed = (a @ one) ** 2 - a**2 @ one**2
        bent = BENT**2 * (a**2 @ other.bends**2) + CURVED_SPREAD**2 * (a @ other.bends) ** 2
        return np.asarray(LEVEL + a**2 @ one + CROSSED**2 / 2 * crossed + bent + self.size**2)

    def _linear(self, other: CovariancePlaces) -> Floats:
        found = self._slopes @ other.numbers
        found += self._level
        return np.asarray(found)

    def _near(self, other: CovariancePlaces) -> Floats:
        found = self._mixed @ other.numbers
        found -= self._own[:, None]
        found -= self._far @ other.squares
        np.exp(found, out=found)
        found *= self.size**2
        return np.asarray(found)

    def _features(self, other: CovariancePlaces) -> Floats:
        return np.vstack([other.squares, other.numbers, other.bends, self.relevance @ other.bends])


@dataclass(frozen=True, slots=True)
class _Weighted:
    """A weighted sum over places, made by `Side.weighted`; `at` gives it at some places."""

    side: Side
    by: Floats
    square: Floats
    slope: Floats
    stacked: Floats
    constant: float

    def at(self, other: CovariancePlaces) -> Floats:
        """Return the sum at each of them, shape (m,)."""
        x, side = other.numbers, self.side
        found = np.einsum("ij,ij->j", x, self.square @ x) + self.slope @ x
        return np.asarray(found + self.stacked @ side._features(other) + self.constant + self.by @ side._near(other))
