"""Points of a fitted surface in the factors' own units: the best point, the stationary point, ridges, a compromise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import msgspec
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
"""The distances from the centre, or from the stationary point, in coded units."""

CLOSE = 512
"""The number of points near the best compromise that are evaluated, in addition to those that fill the ranges."""

DRAWS = 400

STEPS = 25
"""The number of places along a factor at which the response is predicted."""


class ResponseModel(msgspec.Struct, frozen=True):
    """A fitted surface with the meaning of its numbers: factors, goal, and the power of the fitted response (None:
    1)."""

    surface: Surface
    factors: tuple[Factor, ...]
    power: float | None
    goal: Goal

    def back(self, z: Floats | float) -> Floats:
        """Return the response for values of the fitted, possibly transformed, response; any shape."""
        values = np.atleast_1d(np.asarray(z, dtype=np.float64))
        return values if self.power is None else restored(values, self.power)

    def interval(self, value: float, low: float, high: float) -> Interval:
        """Return the interval of the response for an interval of the fitted response, which rises with it."""
        return Interval(*(float(end) for end in self.back(np.array([value, low, high]))))

    def place(self, coded: Floats) -> SurfacePoint:
        """Return a point in coded units, shape (factors,), with its levels and the response there."""
        value = float(self.back(self.surface.predict(coded[None, :]))[0])
        levels = tuple(
            factor.natural(float(coordinate)) for factor, coordinate in zip(self.factors, coded, strict=True)
        )
        return SurfacePoint(tuple(float(coordinate) for coordinate in coded), levels, value)

    def settable(self, coded: Floats) -> Floats:
        """Return the nearest point that can be set, shape (factors,): some factors take whole numbers only."""
        places = [
            factor.coded(factor.natural(float(coordinate)))
            for factor, coordinate in zip(self.factors, coded, strict=True)
        ]
        is_whole = np.array([factor.whole for factor in self.factors])
        return np.where(is_whole, np.array(places), coded)

    @property
    def ranges(self) -> tuple[int, ...]:
        """The numbers of the factors that are ranges."""
        return tuple(index for index, factor in enumerate(self.factors) if not factor.categorical)


def best_place(model: ResponseModel, rng: np.random.Generator, level: float) -> BestPlace:
    """Return the best point within the ranges."""
    bounds = Bounds.of(model.surface.data.frame)
    if model.goal.kind == "target":
        target = best_compromise((model,), rng, level)
        point = np.array(target.at.coded)
        value, _, half, run = around(model.surface, point, level)
        ends = target.place
        return BestPlace(
            target.at,
            model.interval(value, value - half, value + half),
            Interval(target.at.value, math.nan, math.nan),
            model.interval(value, value - run, value + run),
            ends,
            tuple(() for _ in model.factors),
            (),
            _leverage(model, point),
        )
    maximum = optimum(model.surface, bounds, rng, largest=model.goal.kind == "max", level=level)
    maximum = moved(model.surface, maximum, model.settable(maximum.point), level)
    return BestPlace(
        at=model.place(maximum.point),
        value=model.interval(maximum.value, maximum.low, maximum.high),
        band=model.interval(maximum.value, maximum.lowest, maximum.highest),
        next_run=model.interval(maximum.value, maximum.run_low, maximum.run_high),
        place=_ends(model.factors, maximum.point, maximum.place_low, maximum.place_high),
        shares=maximum.shares,
        border=tuple(model.factors[index].name for index in maximum.border),
        leverage=_leverage(model, maximum.point),
    )


def _leverage(model: ResponseModel, point: Floats) -> float:
    return float(model.surface.leverage(point[None, :])[0])


def factor_curves(model: ResponseModel, at: SurfacePoint | None, level: float) -> tuple[FactorCurve, ...]:
    """Return the response along each factor, all others fixed at a point, with Student's interval of the mean."""
    if at is None:
        return ()
    fit = model.surface.fit
    t_quantile = float(stdtrit(fit.freedom, 1 - level / 2)) if fit.freedom else math.nan
    curves = []
    for index, factor in enumerate(model.factors):
        places = np.arange(len(factor.choices)) if factor.categorical else np.linspace(-1, 1, STEPS)
        points = np.tile(np.array(at.coded), (len(places), 1))
        points[:, index] = places
        fitted = model.surface.predict(points)
        half = (
            t_quantile * np.sqrt(fit.mse * model.surface.leverage(points))
            if fit.freedom
            else np.full(len(places), t_quantile)
        )
        ends = (tuple(map(float, model.back(values))) for values in (fitted, fitted - half, fitted + half))
        curves.append(FactorCurve(index, tuple(map(float, places)), *ends))
    return tuple(curves)


def best_compromise(models: Sequence[ResponseModel], rng: np.random.Generator, level: float) -> Compromise:
    """Return the most desirable point, and where it lies in polynomials drawn from their distribution given the
    data."""
    first = models[0]
    frame = first.surface.data.frame
    bounds = Bounds.of(frame)

    def desirability_at(model: ResponseModel, points: Floats) -> Floats:
        return desirability(model.goal, model.back(model.surface.predict(points)))

    desirabilities = [partial(desirability_at, model) for model in models]
    optimum = best(frame, desirabilities, bounds, rng)
    point = first.settable(optimum.point)
    shares = [function(point[None, :]) for function in desirabilities]
    optimum = Best(point, float(overall(shares)[0]), tuple(float(share[0]) for share in shares))
    near = np.clip(optimum.point + 0.15 * rng.standard_normal((CLOSE, len(optimum.point))), bounds.low, bounds.high)
    near = np.where(np.array(frame.choices) > 0, optimum.point, near)
    candidates = np.vstack([optimum.point[None, :], near, pooled(frame, bounds, rng)])
    drawn = [_drawn_desirabilities(model, candidates, rng) for model in models]
    if all(values is not None for values in drawn):
        overall_values = overall([values for values in drawn if values is not None])
        places = candidates[overall_values.argmax(axis=1)]
        low, high = np.quantile(places, [level / 2, 1 - level / 2], axis=0)
        low, high = np.fmin(low, optimum.point), np.fmax(high, optimum.point)
    else:
        low = high = np.full(len(optimum.point), math.nan)
    values = []
    for model in models:
        value, _, half, _ = around(model.surface, optimum.point, level)
        values.append(model.interval(value, value - half, value + half))
    return Compromise(
        at=first.place(optimum.point),
        desirability=optimum.overall,
        desirabilities=optimum.individual,
        responses=tuple(values),
        place=_ends(first.factors, optimum.point, low, high),
    )


def _drawn_desirabilities(model: ResponseModel, pool: Floats, rng: np.random.Generator) -> Floats | None:
    """Return the desirabilities of polynomials drawn at random, at points of shape (points, factors); (draws,
    points)."""
    if not model.surface.fit.freedom or not model.surface.fit.mse > 0:
        return None
    polynomial = model.surface.polynomial
    variables = model.surface.data.frame.expanded(pool)
    values = model.surface.drawn(DRAWS, rng) @ monomials(variables, polynomial.exponents).T
    return desirability(model.goal, model.back(values.ravel())).reshape(values.shape)


def stationary(model: ResponseModel, at: SurfacePoint | None) -> Stationary | None:
    """Return the canonical analysis at the choices of a point; None unless the model is of second order."""
    surface = _quadratic(model, at)
    if surface is None:
        return None
    analysis = canonical(surface)
    place, inside = None, False
    if analysis.point is not None:
        place = model.place(_with(model, at, analysis.point))
        inside = bool((np.abs(analysis.point) <= 1 + 1e-9).all())
    return Stationary(
        place,
        inside,
        analysis.kind,
        tuple(map(float, analysis.eigenvalues)),
        tuple(tuple(map(float, row)) for row in analysis.vectors.T),
        len(analysis.flat),
    )


def ridges(model: ResponseModel, at: SurfacePoint | None) -> tuple[SurfacePoint, ...]:
    """Return the best points at growing distances from the centre."""
    surface = _quadratic(model, at)
    if surface is None or model.goal.kind == "target":
        return ()
    points = ridge(surface, RADII, largest=model.goal.kind == "max")
    return tuple(model.place(_with(model, at, point)) for point in points)


def canonical_path(model: ResponseModel, at: SurfacePoint | None) -> tuple[SurfacePoint, ...]:
    """Return points to both sides of the stationary point, in the direction in which the response improves most."""
    surface = _quadratic(model, at)
    if surface is None or model.goal.kind == "target":
        return ()
    distances = sorted({-radius for radius in RADII[::2]} | set(RADII[::2]))
    points = path(canonical(surface), distances, largest=model.goal.kind == "max")
    return tuple(model.place(_with(model, at, point)) for point in points)


def steepest_direction(model: ResponseModel, at: SurfacePoint | None) -> tuple[float, ...]:
    """Return the direction in which the response improves most from the centre, a number for each range; empty without
    one."""
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
    """Return a point, shape (factors,), with these places of the ranges and the choices of another point."""
    point = np.zeros(len(model.factors)) if at is None else np.array(at.coded)
    point[list(model.ranges)] = ranges
    return point


def _ends(factors: Sequence[Factor], point: Floats, low: Floats, high: Floats) -> tuple[Interval, ...]:
    """Return the intervals of places in the factors' own units; NaN for choices and where nothing is known."""
    intervals = []
    for index, factor in enumerate(factors):
        if factor.categorical or not math.isfinite(low[index]):
            intervals.append(Interval(math.nan, math.nan, math.nan))
        else:
            ends = (float(factor.natural(float(coordinate))) for coordinate in (point[index], low[index], high[index]))
            intervals.append(Interval(*ends))
    return tuple(intervals)
