"""Points of a fitted surface in the factors' own units: the best one, the stationary one, ridges, a compromise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import stdtrit

from becalm.nouns.factor import Factor
from becalm.nouns.finding import Interval
from becalm.nouns.goal import Goal
from becalm.results.design_fit import BestPlace, Compromise, FactorCurve, Stationary, SurfacePoint
from becalm.stats.arrays import Floats
from becalm.surfaces.box_cox import restored
from becalm.surfaces.canonical import Quadratic, canonical, path, ridge, steepest
from becalm.surfaces.desirability import Best, best, desirability, overall, pooled
from becalm.surfaces.optimum import Bounds, around, moved, optimum
from becalm.surfaces.polynomial import monomials
from becalm.surfaces.surface import Surface

RADII = tuple(round(0.2 * step, 1) for step in range(11))
"""Distances from the centre, or from the stationary point, in coded units."""

CLOSE = 512
"""Points about the best compromise that are looked at besides those that fill the ranges."""

DRAWS = 400

STEPS = 25
"""Places along a factor at which the response is told."""


@dataclass(frozen=True, slots=True)
class ResponseModel:
    """A surface with what its numbers mean. `power` None: the response itself."""

    surface: Surface
    factors: tuple[Factor, ...]
    power: float | None
    goal: Goal

    def back(self, z: Floats | float) -> Floats:
        """Values of the response from those that were fitted."""
        found = np.atleast_1d(np.asarray(z, dtype=np.float64))
        return found if self.power is None else restored(found, self.power)

    def interval(self, value: float, low: float, high: float) -> Interval:
        """The same of an interval: the fitted value rises with the response."""
        return Interval(*(float(each) for each in self.back(np.array([value, low, high]))))

    def place(self, coded: Floats) -> SurfacePoint:
        """A point with its levels and the response there."""
        value = float(self.back(self.surface.predict(coded[None, :]))[0])
        levels = tuple(each.natural(float(at)) for each, at in zip(self.factors, coded, strict=True))
        return SurfacePoint(tuple(float(each) for each in coded), levels, value)

    def settable(self, coded: Floats) -> Floats:
        """The nearest point that can be set: some factors take whole numbers only."""
        places = [each.coded(each.natural(float(at))) for each, at in zip(self.factors, coded, strict=True)]
        whole = np.array([factor.whole for factor in self.factors])
        return np.where(whole, np.array(places), coded)

    @property
    def ranges(self) -> tuple[int, ...]:
        """Numbers of the factors that are ranges."""
        return tuple(index for index, each in enumerate(self.factors) if not each.categorical)


def best_place(model: ResponseModel, rng: np.random.Generator, level: float) -> BestPlace:
    """The best point within the ranges."""
    bounds = Bounds.of(model.surface.data.frame)
    if model.goal.kind == "target":
        found = compromise((model,), rng, level)
        point = np.array(found.at.coded)
        value, _, half, run = around(model.surface, point, level)
        ends = found.place
        return BestPlace(
            found.at,
            model.interval(value, value - half, value + half),
            Interval(found.at.value, math.nan, math.nan),
            model.interval(value, value - run, value + run),
            ends,
            tuple(() for _ in model.factors),
            (),
            _leverage(model, point),
        )
    made = optimum(model.surface, bounds, rng, largest=model.goal.kind == "max", level=level)
    made = moved(model.surface, made, model.settable(made.point), level)
    return BestPlace(
        at=model.place(made.point),
        value=model.interval(made.value, made.low, made.high),
        band=model.interval(made.value, made.lowest, made.highest),
        next_run=model.interval(made.value, made.run_low, made.run_high),
        place=_ends(model.factors, made.point, made.place_low, made.place_high),
        shares=made.shares,
        border=tuple(model.factors[index].name for index in made.border),
        leverage=_leverage(model, made.point),
    )


def _leverage(model: ResponseModel, point: Floats) -> float:
    return float(model.surface.leverage(point[None, :])[0])


def factor_curves(model: ResponseModel, at: SurfacePoint | None, level: float) -> tuple[FactorCurve, ...]:
    """The response along each factor, all others as at a point, with the interval of the mean (Student)."""
    if at is None:
        return ()
    fit = model.surface.fit
    reach = float(stdtrit(fit.freedom, 1 - level / 2)) if fit.freedom else math.nan
    made = []
    for index, factor in enumerate(model.factors):
        side = np.arange(len(factor.choices)) if factor.categorical else np.linspace(-1, 1, STEPS)
        points = np.tile(np.array(at.coded), (len(side), 1))
        points[:, index] = side
        fitted = model.surface.predict(points)
        half = reach * np.sqrt(fit.mse * model.surface.leverage(points)) if fit.freedom else np.full(len(side), reach)
        ends = (tuple(map(float, model.back(each))) for each in (fitted, fitted - half, fitted + half))
        made.append(FactorCurve(index, tuple(map(float, side)), *ends))
    return tuple(made)


def compromise(models: Sequence[ResponseModel], rng: np.random.Generator, level: float) -> Compromise:
    """The most desirable point, and where it lies in polynomials drawn from what the data leave open."""
    first = models[0]
    frame = first.surface.data.frame
    bounds = Bounds.of(frame)

    def desirable(model: ResponseModel, points: Floats) -> Floats:
        return desirability(model.goal, model.back(model.surface.predict(points)))

    each_of = [partial(desirable, model) for model in models]
    made = best(frame, each_of, bounds, rng)
    point = first.settable(made.point)
    shares = [each(point[None, :]) for each in each_of]
    made = Best(point, float(overall(shares)[0]), tuple(float(share[0]) for share in shares))
    near = np.clip(made.point + 0.15 * rng.standard_normal((CLOSE, len(made.point))), bounds.low, bounds.high)
    near = np.where(np.array(frame.choices) > 0, made.point, near)
    pool = np.vstack([made.point[None, :], near, pooled(frame, bounds, rng)])
    parts = [_drawn(model, pool, rng) for model in models]
    if all(part is not None for part in parts):
        total = overall([part for part in parts if part is not None])
        places = pool[total.argmax(axis=1)]
        low, high = np.quantile(places, [level / 2, 1 - level / 2], axis=0)
        low, high = np.fmin(low, made.point), np.fmax(high, made.point)
    else:
        low = high = np.full(len(made.point), math.nan)
    values = []
    for model in models:
        value, _, half, _ = around(model.surface, made.point, level)
        values.append(model.interval(value, value - half, value + half))
    return Compromise(
        at=first.place(made.point),
        desirability=made.overall,
        desirabilities=made.individual,
        responses=tuple(values),
        place=_ends(first.factors, made.point, low, high),
    )


def _drawn(model: ResponseModel, pool: Floats, rng: np.random.Generator) -> Floats | None:
    """Desirabilities of drawn polynomials at points, shape (draws, points)."""
    if not model.surface.fit.freedom or not model.surface.fit.mse > 0:
        return None
    polynomial = model.surface.polynomial
    own = model.surface.data.frame.expanded(pool)
    values = model.surface.drawn(DRAWS, rng) @ monomials(own, polynomial.exponents).T
    return desirability(model.goal, model.back(values.ravel())).reshape(values.shape)


def stationary(model: ResponseModel, at: SurfacePoint | None) -> Stationary | None:
    """The canonical analysis, at the choices of a point; None for a model of another order than the second."""
    surface = _quadratic(model, at)
    if surface is None:
        return None
    found = canonical(surface)
    place, inside = None, False
    if found.point is not None:
        place = model.place(_with(model, at, found.point))
        inside = bool((np.abs(found.point) <= 1 + 1e-9).all())
    return Stationary(
        place,
        inside,
        found.kind,
        tuple(map(float, found.eigenvalues)),
        tuple(tuple(map(float, row)) for row in found.vectors.T),
        len(found.flat),
    )


def ridges(model: ResponseModel, at: SurfacePoint | None) -> tuple[SurfacePoint, ...]:
    """The best points at growing distances from the centre."""
    surface = _quadratic(model, at)
    if surface is None or model.goal.kind == "target":
        return ()
    found = ridge(surface, RADII, largest=model.goal.kind == "max")
    return tuple(model.place(_with(model, at, each)) for each in found)


def canonical_path(model: ResponseModel, at: SurfacePoint | None) -> tuple[SurfacePoint, ...]:
    """Points to both sides of the stationary point, in the direction in which the response improves most."""
    surface = _quadratic(model, at)
    if surface is None or model.goal.kind == "target":
        return ()
    both = sorted({-each for each in RADII[::2]} | set(RADII[::2]))
    found = path(canonical(surface), both, largest=model.goal.kind == "max")
    return tuple(model.place(_with(model, at, each)) for each in found)


def steepest_way(model: ResponseModel, at: SurfacePoint | None) -> tuple[float, ...]:
    """The direction in which the response improves most from the centre, by ranges; empty where there is none."""
    ranges = model.ranges
    if not ranges or not model.surface.terms or model.goal.kind == "target":
        return ()
    centre = model.surface.data.frame.expanded(_with(model, at, np.zeros(len(ranges)))[None, :])[0]
    slope = model.surface.polynomial.gradient(centre, np.array(model.surface.data.frame.ranges))
    return tuple(map(float, steepest(slope, ascent=model.goal.kind == "max")))


def _quadratic(model: ResponseModel, at: SurfacePoint | None) -> Quadratic | None:
    surface, ranges = model.surface, model.surface.data.frame.ranges
    orders = {term.order for term in surface.terms}
    if not ranges or "quadratic" not in orders or "cubic" in orders or surface.fit.aliased:
        return None
    variables = surface.data.frame.expanded(_with(model, at, np.zeros(len(ranges)))[None, :])[0]
    return Quadratic.of(surface.polynomial, variables, ranges)


def _with(model: ResponseModel, at: SurfacePoint | None, ranges: Floats) -> Floats:
    """A point with these places of the ranges and the choices of another."""
    point = np.zeros(len(model.factors)) if at is None else np.array(at.coded)
    point[list(model.ranges)] = ranges
    return point


def _ends(factors: Sequence[Factor], point: Floats, low: Floats, high: Floats) -> tuple[Interval, ...]:
    """Ends of places in the factors' own units; NaN for choices and where nothing is known."""
    found = []
    for index, factor in enumerate(factors):
        if factor.categorical or not math.isfinite(low[index]):
            found.append(Interval(math.nan, math.nan, math.nan))
        else:
            ends = (float(factor.natural(float(each))) for each in (point[index], low[index], high[index]))
            found.append(Interval(*ends))
    return tuple(found)
