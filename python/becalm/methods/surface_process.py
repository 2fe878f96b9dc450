"""A surface learnt from few runs in all factors: a Gaussian process about a quadratic that is curved upwards.

log time = level + block + quadratic + rest + noise. `Measurements` are the runs; `Weights` are the hyperparameters;
`learn(seen)` returns the `SurfaceProcess`, which compares any place with another one. `becalm.methods.sequential`
learns it after every run, and `becalm.methods.surface_search` searches it for the next place.

The quadratic has a coefficient for each slope, curvature and interaction, with a normal prior whose size is the
relevance of its factors. So fewer runs than coefficients still show which factors matter, as in automatic relevance
determination (MacKay 1994; Neal 1996), and small effects of many factors are not discarded. Curvatures have a prior
mean above 0, because times mostly have their lowest place within a range; the runs can overrule it. The rest is a
process with the squared exponential covariance (Rasmussen & Williams 2006, 4.9), which is longer along less relevant
factors. It describes second valleys; a step in one factor (`becalm.methods.surface_step`) describes cliffs. Blocks and
noise are normal. The weights maximise the posterior density by its gradient (Rasmussen & Williams 2006, 5.9).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.lapack import dtrtri
from scipy.optimize import minimize

from becalm.methods.surface_covariance import (
    BENT,
    CROSSED,
    CURVED,
    CURVED_SPREAD,
    LEVEL,
    Columns,
    CovariancePlaces,
    Side,
    Weights,
    prior,
)
from becalm.methods.surface_step import SOONEST, VARIANCE, SurfaceStep, likeliest
from becalm.nouns.factor import Factor
from becalm.stats.arrays import Floats

FIRST_STEPS, STEPS = 14, 3
"""The steps of the search for weights: from the prior, and from the weights of the run before."""

DOUBT = 1.2
"""The size of the rest, in standard deviations of the response, of a surface that may have a second valley."""

JITTER = 1e-8
"""The variance added to the diagonal of a covariance for numerical stability."""


@dataclass(slots=True)
class Measurements:
    """The measured runs: their places in coded units, all NaN for the machine as it is.

    `values`: the responses, on the scale on which drift adds. `blocks`: the block of each run.
    """

    factors: tuple[Factor, ...]
    places: list[tuple[float, ...]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)

    def add(self, place: Sequence[float] | None, value: float, block: int) -> None:
        """Add a run. `place`: None for the machine as it is."""
        self.places.append(tuple(place) if place is not None else (math.nan,) * len(self.factors))
        self.values.append(value)
        self.blocks.append(block)


class _Posterior:
    """The posterior density of weights, and its gradient, for a set of runs."""

    def __init__(self, seen: Measurements) -> None:
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
        self.columns = Columns(seen.factors)
        self.here = CovariancePlaces(self.columns, self.places)
        self.size, self.varied_count = len(self.y), len(self.places)
        self.mean, self.spread = prior(len(seen.factors))
        self.step: SurfaceStep | None = None
        self._stepless: tuple[Weights, Side, Floats] | None = None

    def factored(self, weights: Weights) -> tuple[Side, Floats]:
        """Return the side of the runs and the inverse of the Cholesky factor of their covariance.

        If no step was found, both are those from the search for a step.
        """
        if self.step is None and self._stepless is not None and self._stepless[0] is weights:
            return self._stepless[1], self._stepless[2]
        side = Side(self.here, weights)
        return side, _root(self.bare(weights, side))[1]

    def bare(self, weights: Weights, side: Side, parts: tuple[Floats, Floats] | None = None) -> Floats:
        """Return the covariance of all runs, shape (n, n): the varied ones first, then the machine as it is."""
        _, _, noise, block = weights.others
        covariance = np.full((self.size, self.size), LEVEL)
        covariance[self.varied_count :, self.varied_count :] += LEVEL
        covariance[: self.varied_count, : self.varied_count] = side.covariance(self.here, parts)
        if self.step is not None:
            covariance[: self.varied_count, : self.varied_count] += self.step.joint(self.here, self.here)
        covariance += block**2 * self.same
        covariance[np.diag_indices(self.size)] += noise**2 + JITTER
        return covariance

    def expected(self, weights: Weights) -> Floats:
        """Return the expected values of all runs from the shared curvature, without the level, shape (n,)."""
        result = np.zeros(self.size)
        result[: self.varied_count] = CURVED * (weights.relevance @ self.here.bends)
        return result

    def likeliest_step(self, weights: Weights) -> SurfaceStep | None:
        """Return the step that the runs support most with these weights; None for none, or with too few runs."""
        if self.varied_count < len(self.mean) - len(weights.others) + SOONEST:
            return None
        self.step = None
        side, root = self.factored(weights)
        self._stepless = weights, side, root
        return likeliest(self.here, root, root.T @ (root @ (self.y - self.expected(weights))))

    def value(self, logs: Floats) -> tuple[float, Floats]:
        """Return the negative logarithm of the density, and its gradient by the logarithms of weights."""
        weights = Weights(logs)
        side = Side(self.here, weights)
        parts = side.parts(self.here)
        lower, root = _root(self.bare(weights, side, parts))
        rest = self.y - self.expected(weights)
        alpha = root.T @ (root @ rest)
        away = (logs - self.mean) / self.spread
        density = 0.5 * float(rest @ alpha) + float(np.log(np.diag(lower)).sum()) + 0.5 * float(away @ away)
        change = 0.5 * (root.T @ root - np.outer(alpha, alpha))
        return density, self._gradient(weights, parts, change, alpha) + away / self.spread

    def _gradient(self, weights: Weights, parts: tuple[Floats, Floats], change: Floats, alpha: Floats) -> Floats:
        """Return the gradient of the negative log likelihood. `change`: its derivative by the covariance."""
        a, count = weights.relevance, self.varied_count
        _, length, noise, block = weights.others
        inner = np.ascontiguousarray(change[:count, :count])
        columns, numbers, bend = self.columns, self.here.numbers, self.here.bends
        linear, near = parts
        smooth = inner * near
        fars = columns.fars(smooth, numbers)
        bent = bend @ inner
        by_relevance = 2 * a * (columns.products(inner, numbers, 1) + BENT**2 * np.einsum("ij,ij->i", bent, bend))
        crossed = columns.products(inner * linear, numbers, 1)
        by_relevance += CROSSED**2 * (crossed - a * columns.products(inner, numbers, 2))
        by_relevance += 2 * CURVED_SPREAD**2 * (bent @ (a @ bend))
        by_relevance -= fars / (2 * length**2)
        by_relevance -= CURVED * (bend @ alpha[:count])
        others = [
            2 * float(smooth.sum()),
            float(a @ fars) / length**2,
            2 * noise**2 * float(np.trace(change)),
            2 * block**2 * float((change * self.same).sum()),
        ]
        return np.asarray(np.r_[a * by_relevance, others])


def _root(covariance: Floats) -> tuple[Floats, Floats]:
    """Return the Cholesky factor of a covariance, and its inverse."""
    lower = np.linalg.cholesky(covariance)
    # The inverse of a triangular matrix takes half of the time of a general one.
    root, _ = dtrtri(lower, lower=1)
    return np.asarray(lower), np.asarray(root)


class SurfaceProcess:
    """The learnt surface; `against` compares places with a base, on the scale of the values."""

    def __init__(self, posterior: _Posterior, weights: Weights) -> None:
        self.weights = weights
        self._of = posterior
        self._side, self._root = posterior.factored(weights)
        self._alpha = self._root.T @ (self._root @ (posterior.y - posterior.expected(weights)))
        varied, others = np.split(self._alpha, [posterior.varied_count])
        self._weighted, self._level = self._side.weighted(varied), LEVEL * float(others.sum())
        self._step = posterior.step
        self._stepped = 0.0 if self._step is None else VARIANCE * float(varied @ self._step.sides(posterior.here))

    @property
    def noise(self) -> float:
        """The standard deviation of runs at one place."""
        return self.weights.others[2] * self._of.scale

    @property
    def drift(self) -> float:
        """The standard deviation of blocks."""
        return self.weights.others[3] * self._of.scale

    @property
    def step(self) -> tuple[SurfaceStep, float] | None:
        """The step that the runs support, and its size: the values above its edge minus those below."""
        return None if self._step is None else (self._step, self._stepped * self._of.scale)

    def with_doubt(self) -> SurfaceProcess:
        """Return the process with the same weights, except that the rest has at least the size DOUBT."""
        logs = self.weights.logs.copy()
        logs[-4] = max(logs[-4], math.log(DOUBT))
        return SurfaceProcess(self._of, Weights(logs))

    def _joint(self, places: CovariancePlaces) -> Floats:
        """Return the covariance of all runs with the surface at places, shape (n, m)."""
        joint = np.full((self._of.size, places.bends.shape[1]), LEVEL)
        joint[: self._of.varied_count] = self._side.covariance(places)
        if self._step is not None:
            joint[: self._of.varied_count] += self._step.joint(self._of.here, places)
        return joint

    def _mean(self, places: CovariancePlaces) -> Floats:
        """Return the expected values at places, in standard deviations of the response, shape (m,)."""
        mean = CURVED * (self._side.relevance @ places.bends) + self._weighted.at(places) + self._level
        if self._step is not None:
            mean += self._stepped * self._step.sides(places)
        return np.asarray(mean)

    def against(self, base: Floats) -> Callable[[Floats], tuple[Floats, Floats]]:
        """Return a function of places, shape (m, factors), that compares them with the place `base`.

        It returns their expected values and the standard errors of their differences from `base`, shape (m,).
        """
        there = Side(CovariancePlaces(self._of.columns, base[None]), self.weights)
        joint, own = self._joint(there.places), self._side.variance(there.places)

        def difference(places: Floats) -> tuple[Floats, Floats]:
            here = CovariancePlaces(self._of.columns, places)
            # The posterior variance of the difference: both prior variances minus twice their covariance, minus the
            # part that the runs explain.
            known = self._root @ (self._joint(here) - joint)
            variance = self._side.variance(here) + own
            variance -= 2 * there.covariance(here)[0] + np.einsum("ij,ij->j", known, known)
            if self._step is not None:
                variance += VARIANCE * (self._step.sides(here) - self._step.sides(there.places)) ** 2
            mean = self._of.middle + self._of.scale * self._mean(here)
            return mean, self._of.scale * np.sqrt(np.maximum(0.0, variance))

        return difference

    def expected(self, places: Floats) -> Floats:
        """Return the expected values at places, shape (m, factors), without blocks and noise; shape (m,)."""
        return self._of.middle + self._of.scale * self._mean(CovariancePlaces(self._of.columns, places))

    def gain(self, place: Floats) -> tuple[float, float]:
        """Return the expected value of the machine as it is minus that of a place, and its standard error."""
        here = CovariancePlaces(self._of.columns, place[None])
        default = np.full(self._of.size, LEVEL)
        default[self._of.varied_count :] += LEVEL
        # In the difference the variance of the common level cancels.
        known = self._root @ (self._joint(here)[:, 0] - default)
        variance = float(self._side.variance(here)[0]) - float(known @ known)
        if self._step is not None:
            variance += float(self._step.joint(here, here)[0, 0])
        difference = float(default @ self._alpha) - float(self._mean(here)[0])
        return self._of.scale * difference, self._of.scale * math.sqrt(max(0.0, variance))


def learn(seen: Measurements, before: Weights | None = None, *, again: bool = True) -> SurfaceProcess:
    """Return the process with the weights of the largest posterior density.

    `before`: the weights of fewer runs, from which the search for weights takes few steps. `again`: whether to search;
    otherwise the weights of `before` are used, which is faster.
    """
    posterior = _Posterior(seen)
    if before is not None:
        posterior.step = posterior.likeliest_step(before)
    if before is not None and not again:
        return SurfaceProcess(posterior, before)
    start = Weights.usual(len(seen.factors)) if before is None else before
    result = minimize(
        posterior.value,
        start.logs,
        jac=True,
        method="L-BFGS-B",
        bounds=[(centre - 4, centre + 4) for centre in posterior.mean],
        options={"maxiter": FIRST_STEPS if before is None else STEPS, "maxfun": 2 * FIRST_STEPS},
    )
    return SurfaceProcess(posterior, Weights(np.asarray(result.x)))
