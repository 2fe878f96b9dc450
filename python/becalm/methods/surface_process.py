"""A surface learnt from few runs in all factors: a Gaussian process about a quadratic that is curved upwards.

log time = level + block + quadratic + rest + noise. The nouns: `Seen` is what was measured, as arrays; `Weights` are
the numbers that the runs decide; `learned(seen)` gives the `Process`, which says of any place how it compares with
another one. `becalm.methods.sequential` calls it after every run, `becalm.methods.surface_search` asks it for places.

The quadratic has a coefficient for each slope, curvature and interaction, normally distributed with a size that each
factor has for itself (its relevance): so runs that are fewer than coefficients still say which factors matter, as in
automatic relevance determination (MacKay 1994; Neal 1996), and little effects of many factors are not thrown away.
Curvatures have a mean above 0: times mostly have their lowest place within a range, and what does not is learnt from
the runs. The rest is a process with the squared exponential covariance (Rasmussen & Williams 2006, 4.9), longer along
factors that matter less; with it cliffs and second valleys are seen. Blocks and noise are normal; the weights are those
of the largest posterior density, by its gradient (Rasmussen & Williams 2006, 5.9).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize

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

FIRST_STEPS, STEPS = 14, 3
"""Of the search for weights: from the start, and from those of one run less."""

JITTER = 1e-8


@dataclass(slots=True)
class Seen:
    """What was measured: places in coded units, shape (runs, factors); NaN in all of them for the machine as it is.

    `values`: the response, on the scale on which drift adds; `blocks`: the block of each run.
    """

    factors: tuple[Factor, ...]
    places: list[tuple[float, ...]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)

    def add(self, place: Sequence[float] | None, value: float, block: int) -> None:
        """One more run; None for the machine as it is."""
        self.places.append(tuple(place) if place is not None else (math.nan,) * len(self.factors))
        self.values.append(value)
        self.blocks.append(block)


@dataclass(frozen=True, slots=True)
class Weights:
    """Logarithms of: relevance of each factor, size and length of the rest, noise, difference between blocks."""

    logs: Floats

    @classmethod
    def usual(cls, factors: int) -> Weights:
        """Those of the largest prior density."""
        return cls(_prior(factors)[0].copy())

    @property
    def relevance(self) -> Floats:
        """Of each factor, shape (factors,)."""
        return np.asarray(np.exp(self.logs[:-4]))

    @property
    def others(self) -> tuple[float, float, float, float]:
        """Size and length of the rest, standard deviations of noise and of blocks."""
        rest, length, noise, block = np.exp(self.logs[-4:])
        return float(rest), float(length), float(noise), float(block)


def _prior(factors: int) -> tuple[Floats, Floats]:
    names = ["relevance"] * factors + ["rest", "length", "noise", "block"]
    return np.log([PRIOR[each][0] for each in names]), np.array([PRIOR[each][1] for each in names])


class _Columns:
    """Places as columns of numbers, one for a range and one for each choice, so that covariances are products of them.

    What two places have in common in a factor: x x' in a range; 1 in the same choice and `unlike` in another one, so
    that all choices of a factor together are at 0. `of`: the factor of each column.
    """

    def __init__(self, factors: Sequence[Factor]) -> None:
        self.counts = np.array([len(each.choices) for each in factors])
        self.of = np.repeat(np.arange(len(factors)), np.maximum(1, self.counts))
        self.first = np.flatnonzero(np.r_[True, np.diff(self.of) > 0])
        self.ranges = self.counts == 0
        self.choice = ~self.ranges[self.of]
        self.number = np.arange(len(self.of)) - self.first[self.of]
        self.unlike = np.where(self.ranges, 0.0, -1 / np.maximum(1, self.counts - 1))

    def numbers(self, places: Floats) -> Floats:
        """Columns of places, shape (columns, n)."""
        found = places.T[self.of]
        return np.where(self.choice[:, None], found == self.number[:, None], found)

    def bends(self, places: Floats) -> Floats:
        """How far each range is bent away from its middle, shape (factors, n); 0 for choices."""
        return np.where(self.ranges[:, None], places.T**2 - 1 / 3, 0.0)

    def product(self, each: Floats, one: Floats, other: Floats, power: int) -> Floats:
        """Sum over factors of `each` times what two places have in common to a power of 1 or 2, shape (n, m)."""
        unlike = self.unlike**power
        weight = (each * (1 - unlike))[self.of][:, None]
        return np.asarray((weight * one**power).T @ other**power + float(each @ unlike))

    def products(self, change: Floats, one: Floats, power: int) -> Floats:
        """For each factor the sum over pairs of places of `change` times what they have in common, shape (factors,)."""
        columns = np.einsum("ij,ij->i", one**power @ change, one**power)
        unlike = self.unlike**power
        return np.asarray((1 - unlike) * np.add.reduceat(columns, self.first) + unlike * float(change.sum()))

    def far(self, each: Floats, one: Floats, other: Floats) -> Floats:
        """Sum over factors of `each` times the squared distance; other choices are 1 away. Shape (n, m)."""
        weight = np.where(self.choice, 0.5, 1.0) * each[self.of]
        mixed = (weight[:, None] * one).T @ other
        return np.asarray((weight @ one**2)[:, None] + (weight @ other**2)[None, :] - 2 * mixed)

    def fars(self, change: Floats, one: Floats) -> Floats:
        """For each factor the sum over pairs of places of a symmetric `change` times their squared distance."""
        columns = 2 * (one**2 @ change.sum(axis=1)) - 2 * np.einsum("ij,ij->i", one @ change, one)
        return np.asarray(np.add.reduceat(np.where(self.choice, 0.5, 1.0) * columns, self.first))


class _Places:
    """Some places, ready for covariances."""

    def __init__(self, columns: _Columns, places: Floats) -> None:
        self.columns = columns
        self.numbers, self.bends = columns.numbers(places), columns.bends(places)

    def parts(self, weights: Weights, other: _Places) -> tuple[Floats, Floats]:
        """What slopes of here and there have in common, and the covariance of the rest. Both of shape (n, m)."""
        a, (size, length, _, _) = weights.relevance, weights.others
        pair = self.numbers, other.numbers
        near = size**2 * np.exp(self.columns.far(a, *pair) / (-2 * length**2))
        return self.columns.product(a, *pair, 1), np.asarray(near)

    def covariance(self, weights: Weights, other: _Places, parts: tuple[Floats, Floats] | None = None) -> Floats:
        """Of the surface here and there, level included, shape (n, m)."""
        a, columns = weights.relevance, self.columns
        pair = self.numbers, other.numbers
        linear, near = parts or self.parts(weights, other)
        found = linear**2 - columns.product(a**2, *pair, 2)
        found *= CROSSED**2 / 2
        found += columns.product(a**2, *pair, 1) + LEVEL
        bent = np.vstack([BENT * a[:, None] * self.bends, CURVED_SPREAD * (a @ self.bends)])
        found += bent.T @ np.vstack([BENT * a[:, None] * other.bends, CURVED_SPREAD * (a @ other.bends)])
        found += near
        return np.asarray(found)

    def variance(self, weights: Weights) -> Floats:
        """Of the surface at each place, level included, shape (n,)."""
        a, columns = weights.relevance, self.columns
        one = np.where(columns.ranges[:, None], self.numbers[columns.first] ** 2, 1.0)
        crossed = (a @ one) ** 2 - a**2 @ one**2
        bent = BENT**2 * (a**2 @ self.bends**2) + CURVED_SPREAD**2 * (a @ self.bends) ** 2
        return np.asarray(LEVEL + a**2 @ one + CROSSED**2 / 2 * crossed + bent + weights.others[0] ** 2)


class _Posterior:
    """The density of weights, and its gradient, on one set of runs."""

    def __init__(self, seen: Seen) -> None:
        places = np.array(seen.places).reshape(-1, len(seen.factors))
        self.varied = ~np.isnan(places[:, 0])
        self.places = places[self.varied]
        values = np.array(seen.values)
        own = values[self.varied]
        self.middle, self.scale = float(own.mean()), float(own.std()) or 1.0
        order = np.r_[np.flatnonzero(self.varied), np.flatnonzero(~self.varied)]
        self.y = ((values - self.middle) / self.scale)[order]
        blocks = np.array(seen.blocks)[order]
        self.same = (blocks[:, None] == blocks[None, :]).astype(np.float64)
        self.columns = _Columns(seen.factors)
        self.here = _Places(self.columns, self.places)
        self.size, self.of_surface = len(self.y), len(self.places)
        self.mean, self.spread = _prior(len(seen.factors))

    def bare(self, weights: Weights, parts: tuple[Floats, Floats] | None = None) -> Floats:
        """Covariance of all runs, shape (n, n): the varied ones first, then the machine as it is."""
        _, _, noise, block = weights.others
        whole = np.full((self.size, self.size), LEVEL)
        whole[self.of_surface :, self.of_surface :] += LEVEL
        whole[: self.of_surface, : self.of_surface] = self.here.covariance(weights, self.here, parts)
        whole += block**2 * self.same
        whole[np.diag_indices(self.size)] += noise**2 + JITTER
        return whole

    def expected(self, weights: Weights) -> Floats:
        """What the shared curvature has all runs be, level aside."""
        found = np.zeros(self.size)
        found[: self.of_surface] = CURVED * (weights.relevance @ self.here.bends)
        return found

    def value(self, logs: Floats) -> tuple[float, Floats]:
        """Minus the logarithm of the density, and its gradient."""
        weights = Weights(logs)
        parts = self.here.parts(weights, self.here)
        lower, root = _root(self.bare(weights, parts))
        rest = self.y - self.expected(weights)
        alpha = root.T @ (root @ rest)
        away = (logs - self.mean) / self.spread
        density = 0.5 * float(rest @ alpha) + float(np.log(np.diag(lower)).sum()) + 0.5 * float(away @ away)
        change = 0.5 * (root.T @ root - np.outer(alpha, alpha))
        return density, self._gradient(weights, parts, change, alpha) + away / self.spread

    def _gradient(self, weights: Weights, parts: tuple[Floats, Floats], change: Floats, alpha: Floats) -> Floats:
        """Of the likelihood. `change`: half of its derivative by the covariance."""
        a, count = weights.relevance, self.of_surface
        _, length, noise, block = weights.others
        inner = np.ascontiguousarray(change[:count, :count])
        columns, numbers, bend = self.columns, self.here.numbers, self.here.bends
        linear, near = parts
        smooth = inner * near
        fars = columns.fars(smooth, numbers)
        bent = bend @ inner
        of_a = 2 * a * (columns.products(inner, numbers, 1) + BENT**2 * np.einsum("ij,ij->i", bent, bend))
        crossed = columns.products(inner * linear, numbers, 1)
        of_a += CROSSED**2 * (crossed - a * columns.products(inner, numbers, 2))
        of_a += 2 * CURVED_SPREAD**2 * (bent @ (a @ bend))
        of_a -= fars / (2 * length**2)
        of_a -= CURVED * (bend @ alpha[:count])
        others = [
            2 * float(smooth.sum()),
            float(a @ fars) / length**2,
            2 * noise**2 * float(np.trace(change)),
            2 * block**2 * float((change * self.same).sum()),
        ]
        return np.asarray(np.r_[a * of_a, others])


def _root(covariance: Floats) -> tuple[Floats, Floats]:
    """Its Cholesky factor, and the inverse of that."""
    lower = np.linalg.cholesky(covariance)
    return np.asarray(lower), np.asarray(np.linalg.inv(lower))


class Process:
    """What is learnt: `compare` says of places how they differ from another one, on the scale of the values."""

    def __init__(self, posterior: _Posterior, weights: Weights) -> None:
        self.weights = weights
        self._of = posterior
        _, self._root = _root(posterior.bare(weights))
        self._alpha = self._root.T @ (self._root @ (posterior.y - posterior.expected(weights)))

    @property
    def noise(self) -> float:
        """Standard deviation of runs at one place."""
        return self.weights.others[2] * self._of.scale

    @property
    def drift(self) -> float:
        """Standard deviation of blocks."""
        return self.weights.others[3] * self._of.scale

    def _joint(self, places: _Places) -> Floats:
        """Covariance of the surface at places with all runs, shape (n, m)."""
        joint = np.full((self._of.size, places.bends.shape[1]), LEVEL)
        joint[: self._of.of_surface] = self._of.here.covariance(self.weights, places)
        return joint

    def _mean(self, places: _Places, joint: Floats) -> Floats:
        """Expected values at places, scaled."""
        return np.asarray(CURVED * (self.weights.relevance @ places.bends) + self._alpha @ joint)

    def compare(self, places: Floats, base: Floats) -> tuple[Floats, Floats]:
        """Expected value at places, shape (m, factors), and standard error of how they differ from `base`, a place."""
        here, there = _Places(self._of.columns, places), _Places(self._of.columns, base[None])
        joint = self._joint(here)
        # Of the difference: what the runs leave of the variance of each, less twice what both have in common.
        known = self._root @ (joint - self._joint(there))
        variance = here.variance(self.weights) + there.variance(self.weights)
        variance -= 2 * here.covariance(self.weights, there)[:, 0] + np.einsum("ij,ij->j", known, known)
        mean = self._of.middle + self._of.scale * self._mean(here, joint)
        return mean, self._of.scale * np.sqrt(np.maximum(0.0, variance))

    def expected(self, places: Floats) -> Floats:
        """Expected values at places, without blocks and noise."""
        here = _Places(self._of.columns, places)
        return self._of.middle + self._of.scale * self._mean(here, self._joint(here))

    def gain(self, place: Floats) -> tuple[float, float]:
        """How much lower a place is expected to be than the machine as it is, and the standard error of that."""
        here = _Places(self._of.columns, place[None])
        joint = self._joint(here)
        default = np.full(self._of.size, LEVEL)
        default[self._of.of_surface :] += LEVEL
        # Of the difference: both have the variance of the level in common.
        known = self._root @ (joint[:, 0] - default)
        variance = float(here.variance(self.weights)[0]) - float(known @ known)
        difference = float(default @ self._alpha) - float(self._mean(here, joint)[0])
        return self._of.scale * difference, self._of.scale * math.sqrt(max(0.0, variance))


def learned(seen: Seen, before: Weights | None = None, *, again: bool = True) -> Process:
    """The process of the likeliest weights. `before`: those of fewer runs, from which few steps lead to the new.

    `again` False: with the weights of before, which is quicker.
    """
    posterior = _Posterior(seen)
    if before is not None and not again:
        return Process(posterior, before)
    start = Weights.usual(len(seen.factors)) if before is None else before
    found = minimize(
        posterior.value,
        start.logs,
        jac=True,
        method="L-BFGS-B",
        bounds=[(each - 4, each + 4) for each in posterior.mean],
        options={"maxiter": FIRST_STEPS if before is None else STEPS, "maxfun": 2 * FIRST_STEPS},
    )
    return Process(posterior, Weights(np.asarray(found.x)))
