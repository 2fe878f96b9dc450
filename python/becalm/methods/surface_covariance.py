"""The covariance of a surface between two sets of places, by few matrix products, for `surface_process`.

`Weights` are the hyperparameters, `CovariancePlaces` some places as columns of numbers, and `Side` such places with
weights applied; `Side.covariance` is their covariance with any others. `becalm.methods.surface_process` has the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from becalm.nouns.factor import Factor
from becalm.stats.arrays import Floats

CURVED, CURVED_SPREAD = 0.6, 0.4
"""The mean and the standard deviation of the curvature that all factors of relevance 1 share."""

BENT = 0.5
"""The standard deviation of the curvature of a single factor of relevance 1."""

CROSSED = 0.5
"""The standard deviation of the interaction of two factors of relevance 1."""

LEVEL = 25.0
"""The variance of the level, and of the difference between the machine as it is and all places: practically unknown."""

PRIOR = {"relevance": (0.6, 1.0), "rest": (0.15, 1.0), "length": (0.5, 0.6), "noise": (0.1, 1.2), "block": (0.05, 1.0)}
"""The median and the logarithmic standard deviation of each weight, in standard deviations of the response."""


class Weights(msgspec.Struct, frozen=True):
    """The logarithms of the relevance of each factor, the size and length of the rest, the noise, and the blocks."""

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
        """The size and length of the rest, and the standard deviations of noise and of blocks."""
        rest, length, noise, block = np.exp(self.logs[-4:])
        return float(rest), float(length), float(noise), float(block)


def prior(factors: int) -> tuple[Floats, Floats]:
    """Return the means and standard deviations of the logarithms of all weights."""
    names = ["relevance"] * factors + ["rest", "length", "noise", "block"]
    return np.log([PRIOR[name][0] for name in names]), np.array([PRIOR[name][1] for name in names])


class Columns:
    """The encoding of places as columns of numbers, one for a range and one for each choice.

    Covariances are products of columns. The product of two places in a factor is x x' for a range; for choices it is 1
    if they are equal and else `unlike`, so that the choices of a factor sum to 0. `of`: the factor of each column.
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
        coordinates = places.T[self.of]
        return np.where(self.choice[:, None], coordinates == self.number[:, None], coordinates)

    def bends(self, places: Floats) -> Floats:
        """Return the quadratic term of each range, x² - 1/3, shape (factors, n); 0 for choices."""
        bent = places.T**2 - 1 / 3
        return bent if self.plain else np.where(self.ranges[:, None], bent, 0.0)

    def products(self, change: Floats, numbers: Floats, power: int) -> Floats:
        """Return by factor the sum over pairs of places of `change` times their product's power, shape (factors,)."""
        columns = np.einsum("ij,ij->i", numbers**power @ change, numbers**power)
        unlike = self.unlike**power
        return np.asarray((1 - unlike) * np.add.reduceat(columns, self.first) + unlike * float(change.sum()))

    def fars(self, change: Floats, numbers: Floats) -> Floats:
        """Return by factor the sum over pairs of places of a symmetric `change` times their squared distance."""
        columns = 2 * (numbers**2 @ change.sum(axis=1)) - 2 * np.einsum("ij,ij->i", numbers @ change, numbers)
        return np.asarray(np.add.reduceat(np.where(self.choice, 0.5, 1.0) * columns, self.first))


class CovariancePlaces:
    """Some places in the encoding of `Columns`, prepared for covariances."""

    def __init__(self, columns: Columns, places: Floats) -> None:
        self.columns = columns
        self.numbers, self.bends = columns.numbers(places), columns.bends(places)
        self.squares = self.numbers**2


class Side:
    """Places with weights applied: one side of covariances.

    The covariance is level + sum a u + (sum a u)^2 without its squares + curvatures + rest, where a are the relevances
    and u is the product of two places in a factor (`Columns`). All but the square and the rest is one matrix product.
    """

    def __init__(self, places: CovariancePlaces, weights: Weights) -> None:
        columns, a = places.columns, weights.relevance
        self.places, self.relevance = places, a
        self.size, self.length, _, _ = weights.others
        unlike, of = columns.unlike, columns.of
        crossed = CROSSED**2 / 2
        slopes, twice = a * (1 - unlike), a**2 * (1 - unlike)
        self._slopes = (slopes[of][:, None] * places.numbers).T
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
        # Different choices have distance 1.
        self._far = np.where(columns.choice, 0.5, 1.0) * a[of] / (2 * self.length**2)
        self._mixed = (2 * self._far[:, None] * places.numbers).T
        self._own = self._far @ places.squares

    def parts(self, other: CovariancePlaces) -> tuple[Floats, Floats]:
        """Return the linear part of the covariance with other places, and that of the rest, both of shape (n, m)."""
        return self._linear(other), self._near(other)

    def covariance(self, other: CovariancePlaces, parts: tuple[Floats, Floats] | None = None) -> Floats:
        """Return the covariance of the surface with other places, level included, shape (n, m)."""
        linear, near = parts or self.parts(other)
        covariance = linear**2
        covariance *= CROSSED**2 / 2
        covariance += self._stacked @ self._features(other)
        covariance += self._constant
        covariance += near
        return np.asarray(covariance)

    def weighted(self, by: Floats) -> _Weighted:
        """Return the function for the sum over these places of `by` times their covariance with other places."""
        u = self._slopes
        return _Weighted(
            self,
            by,
            # The weighted sum of (u x + level)^2 is a quadratic form in x.
            CROSSED**2 / 2 * (u.T * by) @ u,
            CROSSED**2 * self._level * (by @ u),
            by @ self._stacked,
            float(by.sum()) * (self._constant + CROSSED**2 / 2 * self._level**2),
        )

    def variance(self, other: CovariancePlaces) -> Floats:
        """Return the variance of the surface at other places with the same weights, level included, shape (m,)."""
        a, columns = self.relevance, other.columns
        squares = (
            other.squares if columns.plain else np.where(columns.ranges[:, None], other.squares[columns.first], 1.0)
        )
        crossed = (a @ squares) ** 2 - a**2 @ squares**2
        bent = BENT**2 * (a**2 @ other.bends**2) + CURVED_SPREAD**2 * (a @ other.bends) ** 2
        return np.asarray(LEVEL + a**2 @ squares + CROSSED**2 / 2 * crossed + bent + self.size**2)

    def _linear(self, other: CovariancePlaces) -> Floats:
        linear = self._slopes @ other.numbers
        linear += self._level
        return np.asarray(linear)

    def _near(self, other: CovariancePlaces) -> Floats:
        near = self._mixed @ other.numbers
        near -= self._own[:, None]
        near -= self._far @ other.squares
        np.exp(near, out=near)
        near *= self.size**2
        return np.asarray(near)

    def _features(self, other: CovariancePlaces) -> Floats:
        return np.vstack([other.squares, other.numbers, other.bends, self.relevance @ other.bends])


class _Weighted(msgspec.Struct, frozen=True):
    """A weighted sum over places, made by `Side.weighted`; `at` evaluates it at other places."""

    side: Side
    by: Floats
    square: Floats
    slope: Floats
    stacked: Floats
    constant: float

    def at(self, other: CovariancePlaces) -> Floats:
        """Return the sum at other places, shape (m,)."""
        x, side = other.numbers, self.side
        total = np.einsum("ij,ij->j", x, self.square @ x) + self.slope @ x
        return np.asarray(total + self.stacked @ side._features(other) + self.constant + self.by @ side._near(other))
