"""The best point of a surface within bounds, with intervals for the response there and for the point itself.

The response: Student's t at the point, which is what the delta method gives, since the slope is zero there or the point
is held by a bound; and Scheffe's band, which holds for all points at once and so for the best of them (Miller 1981,
Simultaneous Statistical Inference, 3.2). The point: polynomials are drawn from the joint t distribution of the
coefficients, and the interval holds the middle of their best points. Unlike the region of Box & Hunter 1954 (Biometrika
41:190), it is also defined where the best point lies on the border.

Public: Optimum, Bounds, optimum, best_point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from scipy.special import fdtri, stdtrit

from becalm.stats.arrays import Floats, Ints
from becalm.surfaces.polynomial import Polynomial, climb, highest, monomials
from becalm.surfaces.surface import Surface
from becalm.surfaces.terms import Frame

DRAWS = 1000
"""The number of drawn polynomials: the standard error of a share of 2.5 % is then 0.5 %."""

STARTS = 64
"""Random starts, in addition to the runs themselves."""

POOL = 512
"""Points at which every drawn polynomial is evaluated first."""

ON_BORDER = 1e-6

MANY = 64
"""Combinations of choices beyond which they are not all tried if each choice can be optimised by itself."""


class Bounds(msgspec.Struct, frozen=True):
    """The lowest and highest place of each factor in coded units; all choices of a factor are allowed."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, frame: Frame) -> Bounds:
        """Return the bounds at the ends of the factors' ranges."""
        return cls(np.full(len(frame.choices), -1.0), np.full(len(frame.choices), 1.0))


class Optimum(msgspec.Struct, frozen=True):
    """The best point, shape (factors,), and the surface there with its intervals (NaN where no run is left for the
    error).

    - `low` to `high`: for the mean at this point
    - `lowest` to `highest`: for all points at once
    - `run_low` to `run_high`: for one more run
    - `place_low`, `place_high`: the interval of the best place of each factor
    - `shares`: how often each choice of a factor was best
    - `border`: the factors that are held by their bound
    """

    point: Floats
    value: float
    error: float
    low: float
    high: float
    lowest: float
    highest: float
    run_low: float
    run_high: float
    place_low: Floats
    place_high: Floats
    shares: tuple[tuple[float, ...], ...]
    border: tuple[int, ...]
    leverage: float


def optimum(surface: Surface, bounds: Bounds, rng: np.random.Generator, *, largest: bool, level: float) -> Optimum:
    """Return the point within bounds where a surface is largest, or smallest, with its intervals."""
    point = best_point(surface, bounds, rng, largest=largest)
    places, shares = _places(surface, bounds, rng, 1.0 if largest else -1.0, point)
    return _around(surface, bounds, point, places, shares, level)


def best_point(surface: Surface, bounds: Bounds, rng: np.random.Generator, *, largest: bool) -> Floats:
    """Return the point within bounds where a surface is largest, or smallest, without intervals."""
    frame = surface.data.frame
    sign = 1.0 if largest else -1.0
    uphill = Polynomial(surface.polynomial.exponents, sign * surface.polynomial.coefficients)
    starts = np.vstack([_inside(surface.data.points, bounds), _scattered(frame, bounds, STARTS, rng)])
    ends = []
    for choice in _choices(uphill, frame):
        low, high = _variables(frame, bounds, choice)
        own_starts = frame.expanded(_set(starts, frame, choice))
        ends.append((highest(uphill, np.unique(own_starts, axis=0), low, high), choice))
    values = [float(uphill(end[None, :])[0]) for end, _ in ends]
    variables, choice = ends[int(np.argmax(values))]
    return _point(frame, variables, choice)


def combinations_of(frame: Frame) -> list[tuple[int, ...]]:
    """Return every combination of choices; factors with a range have 0."""
    return list(product(*(range(many) if many else (0,) for many in frame.choices)))


def combinations(frame: Frame) -> int:
    """Return the number of combinations of choices."""
    return math.prod(many or 1 for many in frame.choices)


def separable(polynomial: Polynomial, frame: Frame) -> bool:
    """Return whether the effect of each choice is independent of all other factors."""
    contrasts = [index for index in range(len(frame.variables)) if index not in frame.ranges]
    mixed = (polynomial.exponents[:, contrasts] > 0).any(axis=1) & ((polynomial.exponents > 0).sum(axis=1) > 1)
    return not mixed.any()


def _choices(polynomial: Polynomial, frame: Frame) -> list[tuple[int, ...]]:
    """Return the combinations of choices that may contain the highest point of a polynomial: all of them, or only the
    best choice of each factor."""
    if combinations(frame) <= MANY or not separable(polynomial, frame):
        return combinations_of(frame)
    return [
        tuple(int(choice) for choice in _best_choices(polynomial.exponents, polynomial.coefficients[None, :], frame)[0])
    ]


def _best_choices(exponents: Ints, coefficients: Floats, frame: Frame) -> Floats:
    """Return the choices that add most to separable polynomials, shape (n, factors); 0 for factors with a range."""
    best = np.zeros((len(coefficients), len(frame.choices)))
    for index, many in enumerate(frame.choices):
        if many:
            at = np.zeros((many, len(frame.choices)))
            at[:, index] = np.arange(many)
            best[:, index] = (coefficients @ monomials(frame.expanded(at), exponents).T).argmax(axis=1)
    return best


def around(surface: Surface, point: Floats, level: float) -> tuple[float, float, float, float]:
    """Return the surface at a point: value, standard error, and half widths of the intervals for the mean and for one
    more run."""
    value, leverage = float(surface.predict(point[None, :])[0]), float(surface.leverage(point[None, :])[0])
    freedom, mse = surface.fit.freedom, surface.fit.mse
    if not freedom:
        return value, math.nan, math.nan, math.nan
    t = float(stdtrit(freedom, 1 - level / 2))
    error = math.sqrt(mse * leverage)
    return value, error, t * error, t * math.sqrt(mse * (1 + leverage))


def moved(surface: Surface, previous: Optimum, point: Floats, level: float) -> Optimum:
    """Return the optimum moved to a point nearby, for factors that take only whole numbers."""
    return replace(previous, point=point, **_levels(surface, point, level))


def _levels(surface: Surface, point: Floats, level: float) -> dict[str, Any]:
    """Return the response at a point with its intervals, as fields of an Optimum."""
    value, error, half, run = around(surface, point, level)
    many, freedom = len(surface.fit.columns), surface.fit.freedom
    band = math.sqrt(many * float(fdtri(many, freedom, 1 - level))) * error if freedom else math.nan
    ends = {"low": half, "lowest": band, "run_low": run}
    opposite = {"high": half, "highest": band, "run_high": run}
    return {
        "value": value,
        "error": error,
        "leverage": float(surface.leverage(point[None, :])[0]),
        **{name: value - width for name, width in ends.items()},
        **{name: value + width for name, width in opposite.items()},
    }


def _around(
    surface: Surface, bounds: Bounds, point: Floats, places: Floats, shares: tuple[tuple[float, ...], ...], level: float
) -> Optimum:
    frame = surface.data.frame
    ends = np.quantile(places, [level / 2, 1 - level / 2], axis=0) if len(places) else np.full((2, len(point)), np.nan)
    border = tuple(
        index
        for index, many_choices in enumerate(frame.choices)
        if not many_choices and min(point[index] - bounds.low[index], bounds.high[index] - point[index]) < ON_BORDER
    )
    return Optimum(
        point=point,
        **_levels(surface, point, level),
        # The middle of skewed draws may miss the point itself, which the data support best.
        place_low=np.fmin(ends[0], point),
        place_high=np.fmax(ends[1], point),
        shares=shares,
        border=border,
    )


def _places(
    surface: Surface, bounds: Bounds, rng: np.random.Generator, sign: float, point: Floats
) -> tuple[Floats, tuple[tuple[float, ...], ...]]:
    """Return the best points of drawn polynomials, shape (draws, factors), and how often each choice was best."""
    frame = surface.data.frame
    if not surface.fit.freedom or not surface.fit.mse > 0:
        return np.empty((0, len(point))), tuple(tuple(1.0 for _ in range(many)) for many in frame.choices)
    drawn = sign * surface.drawn(DRAWS, rng)
    exponents = surface.polynomial.exponents
    pool = np.vstack([point[None, :], _inside(surface.data.points, bounds), _scattered(frame, bounds, POOL, rng)])
    best, value = np.empty((DRAWS, len(point))), np.full(DRAWS, -np.inf)
    choices = _choices(Polynomial(exponents, sign * surface.polynomial.coefficients), frame)
    for choice in choices:
        low, high = _variables(frame, bounds, choice)
        own_pool = frame.expanded(_set(pool, frame, choice))
        seen = drawn @ monomials(own_pool, exponents).T
        for starts in (own_pool[seen.argmax(axis=1)], np.repeat(own_pool[:1], DRAWS, axis=0)):
            ends = climb(exponents, drawn, np.clip(starts, low, high), low, high, 1e-4)
            reached = (monomials(ends, exponents) * drawn).sum(axis=1)
            better = reached > value
            value[better] = reached[better]
            best[better] = _points(frame, ends[better], choice)
    if len(choices) == 1:
        # Choices are independent: each drawn polynomial may have another best choice.
        chosen = np.array(frame.choices) > 0
        best[:, chosen] = _best_choices(exponents, drawn, frame)[:, chosen]
    shares = tuple(
        tuple(float((best[:, index] == level).mean()) for level in range(many))
        for index, many in enumerate(frame.choices)
    )
    return best, shares


def _variables(frame: Frame, bounds: Bounds, choice: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the lower and upper ends of the variables; those of choices have both ends at their fixed value."""
    ends = []
    for side in (bounds.low, bounds.high):
        at = np.where(np.array(frame.choices) > 0, np.array(choice, dtype=np.float64), side)
        ends.append(frame.expanded(at[None, :])[0])
    return ends[0], ends[1]


def _set(points: Floats, frame: Frame, choice: Sequence[int]) -> Floats:
    return np.where(np.array(frame.choices) > 0, np.array(choice, dtype=np.float64), points)


def _inside(points: Floats, bounds: Bounds) -> Floats:
    return np.clip(points, bounds.low, np.maximum(bounds.high, points * 0 + bounds.high))


def _scattered(frame: Frame, bounds: Bounds, count: int, rng: np.random.Generator) -> Floats:
    return rng.uniform(bounds.low, bounds.high, (count, len(frame.choices)))


def _point(frame: Frame, variables: Floats, choice: Sequence[int]) -> Floats:
    """Return a point of factors from its variables."""
    return np.asarray(_points(frame, variables[None, :], choice)[0])


def _points(frame: Frame, variables: Floats, choice: Sequence[int]) -> Floats:
    """Return points of factors from their variables, shape (n, variables) to (n, factors)."""
    points = np.tile(np.array(choice, dtype=np.float64), (len(variables), 1))
    points[:, [frame.variables[index][0] for index in frame.ranges]] = variables[:, list(frame.ranges)]
    return points
