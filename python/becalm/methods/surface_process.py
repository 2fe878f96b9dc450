"""A surface learnt from few runs in all factors: a Gaussian process about a quadratic that is curved upwards.

log time = level + block + quadratic + rest + noise. The nouns: `Seen` is what was measured, as arrays; `Weights` are
the numbers that the runs decide; `learned(seen)` gives the `SurfaceProcess`, which says of any place how it compares
with another one. `becalm.methods.sequential` calls it after every run, `becalm.methods.surface_search` asks it for
places.

The quadratic has a coefficient for each slope, curvature and interaction, normally distributed with a size that each
factor has for itself (its relevance): so runs that are fewer than coefficients still say which factors matter, as in
automatic relevance determination (MacKay 1994; Neal 1996), and little effects of many factors are not thrown away.
Curvatures have a mean above 0: times mostly have their lowest place within a range, and what does not is learnt from
the runs. The rest is a process with the squared exponential covariance (Rasmussen & Williams 2006, 4.9), longer along
factors that matter less; with it second valleys are seen, and cliffs by a step in one factor
(`becalm.methods.surface_step`). Blocks and noise are normal; the weights are those of the largest posterior density, by
its gradient (Rasmussen & Williams 2006, 5.9).
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
"""The steps of the search for weights: from the start, and from those of one run less."""

DOUBT = 1.2
"""Size of the rest, in standard deviations of the response, of a surface that may have a second valley."""

JITTER = 1e-8


@dataclass(slots=True)
class Seen:
    """The measurements: places in coded units, shape (runs, factors); NaN in all of them for the machine as it is.

    `values`: the response, on the scale on which drift adds; `blocks`: the block of each run.
    """

    factors: tuple[Factor, ...]
    places: list[tuple[float, ...]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)

    def add(self, place: Sequence[float] | None, value: float, block: int) -> None:
        """Add a run; `place` None for the machine as it is."""
        self.places.append(tuple(place) if place is not None else (math.nan,) * len(self.factors))
        self.values.append(value)
        self.blocks.append(block)


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
        self.columns = Columns(seen.factors)
        self.here = CovariancePlaces(self.columns, self.places)
        self.size, self.of_surface = len(self.y), len(self.places)
        self.mean, self.spread = prior(len(seen.factors))
        self.step: SurfaceStep | None = None
        self._stepless: tuple[Weights, Side, Floats] | None = None

    def factored(self, weights: Weights) -> tuple[Side, Floats]:
        """Return the side of the runs, and the inverse of the Cholesky factor of their covariance: where no step was
        found, of the one in which it was searched."""
        if self.step is None and self._stepless is not None and self._stepless[0] is weights:
            return self._stepless[1], self._stepless[2]
        side = Side(self.here, weights)
        return side, _root(self.bare(weights, side))[1]

    def bare(self, weights: Weights, side: Side, parts: tuple[Floats, Floats] | None = None) -> Floats:
        """Return the covariance of all runs, shape (n, n): the varied ones first, then the machine as it is."""
        _, _, noise, block = weights.others
        whole = np.full((self.size, self.size), LEVEL)
        whole[self.of_surface :, self.of_surface :] += LEVEL
        whole[: self.of_surface, : self.of_surface] = side.covariance(self.here, parts)
        if self.step is not None:
            whole[: self.of_surface, : self.of_surface] += self.step.joint(self.here, self.here)
        whole += block**2 * self.same
        whole[np.diag_indices(self.size)] += noise**2 + JITTER
        return whole

    def expected(self, weights: Weights) -> Floats:
        """Return the expected value of all runs by the shared curvature, without the level."""
        result = np.zeros(self.size)
        result[: self.of_surface] = CURVED * (weights.relevance @ self.here.bends)
        return result

    def likeliest_step(self, weights: Weights) -> SurfaceStep | None:
        """Return the step that the runs support most with these weights; None with too few of them."""
        if self.of_surface < len(self.mean) - len(weights.others) + SOONEST:
            return None
        self.step = None
        side, root = self.factored(weights)
        self._stepless = weights, side, root
        return likeliest(self.here, root, root.T @ (root @ (self.y - self.expected(weights))))

    def value(self, logs: Floats) -> tuple[float, Floats]:
        """Return minus the logarithm of the density, and its gradient."""
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
        """Return the gradient of the likelihood. `change`: half of its derivative by the covariance."""
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
    """Return the Cholesky factor of a covariance, and its inverse."""
    lower = np.linalg.cholesky(covariance)
    # By the triangle: half of the time of an inverse of any matrix.
    root, _ = dtrtri(lower, lower=1)
    return np.asarray(lower), np.asarray(root)


class SurfaceProcess:
    """The learnt surface: `against` compares places with another one, on the scale of the values."""

    def __init__(self, posterior: _Posterior, weights: Weights) -> None:
        self.weights = weights
        self._of = posterior
        self._side, self._root = posterior.factored(weights)
        self._alpha = self._root.T @ (self._root @ (posterior.y - posterior.expected(weights)))
        varied, others = np.split(self._alpha, [posterior.of_surface])
        self._said, self._level = self._side.weighted(varied), LEVEL * float(others.sum())
        self._step = posterior.step
        self._stepped = 0.0 if self._step is None else VARIANCE * float(varied @ self._step.sides(posterior.here))

    @property
    def noise(self) -> float:
        """Standard deviation of runs at one place."""
        return self.weights.others[2] * self._of.scale

    @property
    def drift(self) -> float:
        """Standard deviation of blocks."""
        return self.weights.others[3] * self._of.scale

    @property
    def step(self) -> tuple[SurfaceStep, float] | None:
        """The step that the runs speak for, and by how much what lies above its edge differs from what lies below."""
        return None if self._step is None else (self._step, self._stepped * self._of.scale)

    def doubted(self) -> SurfaceProcess:
        """Return the process in which the misfit of the quadratic may be large, whatever the likeliest weights are."""
        logs = self.weights.logs.copy()
        logs[-4] = max(logs[-4], math.log(DOUBT))
        return SurfaceProcess(self._of, Weights(logs))

    def _joint(self, places: CovariancePlaces) -> Floats:
        """Return the covariance of the surface at places with all runs, shape (n, m)."""
        joint = np.full((self._of.size, places.bends.shape[1]), LEVEL)
        joint[: self._of.of_surface] = self._side.covariance(places)
        if self._step is not None:
            joint[: self._of.of_surface] += self._step.joint(self._of.here, places)
        return joint

    def _mean(self, places: CovariancePlaces) -> Floats:
        """Return the expected values at places, scaled."""
        found = CURVED * (self._side.relevance @ places.bends) + self._said.at(places) + self._level
        if self._step is not None:
            found += self._stepped * self._step.sides(places)
        return np.asarray(found)

    def against(self, base: Floats) -> Callable[[Floats], tuple[Floats, Floats]]:
        """Return the function that gives for places, shape (m, factors), the expected value, and the standard error of
        their difference from `base`, a place."""
        there = Side(CovariancePlaces(self._of.columns, base[None]), self.weights)
        joint, own = self._joint(there.places), self._side.variance(there.places)

        def compared(places: Floats) -> tuple[Floats, Floats]:
            here = CovariancePlaces(self._of.columns, places)
            # Of the difference: what the runs leave of the variance of each, less twice what both have in common.
            known = self._root @ (self._joint(here) - joint)
            variance = self._side.variance(here) + own
            variance -= 2 * there.covariance(here)[0] + np.einsum("ij,ij->j", known, known)
            if self._step is not None:
                variance += VARIANCE * (self._step.sides(here) - self._step.sides(there.places)) ** 2
            mean = self._of.middle + self._of.scale * self._mean(here)
            return mean, self._of.scale * np.sqrt(np.maximum(0.0, variance))

        return compared

    def expected(self, places: Floats) -> Floats:
        """Return the expected values at places, without blocks and noise."""
        return self._of.middle + self._of.scale * self._mean(CovariancePlaces(self._of.columns, places))

    def gain(self, place: Floats) -> tuple[float, float]:
        """Return how much lower a place is expected to be than the machine as it is, and the standard error of that."""
        here = CovariancePlaces(self._of.columns, place[None])
        default = np.full(self._of.size, LEVEL)
        default[self._of.of_surface :] += LEVEL
        # Of the difference: both have the variance of the level in common.
        known = self._root @ (self._joint(here)[:, 0] - default)
        variance = float(self._side.variance(here)[0]) - float(known @ known)
        if self._step is not None:
            variance += float(self._step.joint(here, here)[0, 0])
        difference = float(default @ self._alpha) - float(self._mean(here)[0])
        return self._of.scale * difference, self._of.scale * math.sqrt(max(0.0, variance))


def learned(seen: Seen, before: Weights | None = None, *, again: bool = True) -> SurfaceProcess:
    """Return the process of the likeliest weights. `before`: those of fewer runs, from which few steps lead to the new.

    `again` False: with the weights of before, which is quicker.
    """
    posterior = _Posterior(seen)
    if before is not None:
        posterior.step = posterior.likeliest_step(before)
    if before is not None and not again:
        return SurfaceProcess(posterior, before)
    start = Weights.usual(len(seen.factors)) if before is None else before
    found = minimize(
        posterior.value,
        start.logs,
        jac=True,
        method="L-BFGS-B",
        bounds=[(each - 4, each + 4) for each in posterior.mean],
        options={"maxiter": FIRST_STEPS if before is None else STEPS, "maxfun": 2 * FIRST_STEPS},
    )
    return SurfaceProcess(posterior, Weights(np.asarray(found.x)))
