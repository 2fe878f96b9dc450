"""Several responses at once: the point with the highest geometric mean of desirabilities.

Derringer & Suich 1980 (J. Qual. Technol. 12:214); the desirability of each response follows from its Goal. The mean has
edges and plateaus, so the search uses no slopes: it tries many points, then runs the simplex of Nelder & Mead 1965 from
the best.

Public: Best, best, desirability, overall, pooled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from becalm.nouns.goal import Goal
from becalm.stats.arrays import Floats
from becalm.surfaces.optimum import Bounds, combinations_of
from becalm.surfaces.terms import Frame

POOL = 4096
FROM = 8
"""The number of best points of the pool from which the simplex starts."""

RESTARTS = 6

Value = Callable[[Floats], Floats]
"""A function of points, shape (n, factors), that returns values, shape (n,)."""


class Best(msgspec.Struct, frozen=True):
    """The best point, shape (factors,), its overall desirability and the desirability of each response."""

    point: Floats
    overall: float
    individual: tuple[float, ...]


def desirability(goal: Goal, y: Floats) -> Floats:
    """Return the desirability of each value, from 0 (not acceptable) to 1 (ideal), linear between the goal's limits."""
    if goal.kind == "min":
        scores = (goal.high - y) / (goal.high - goal.low)
    elif goal.kind == "max":
        scores = (y - goal.low) / (goal.high - goal.low)
    else:
        scores = np.minimum((y - goal.low) / (goal.at - goal.low), (goal.high - y) / (goal.high - goal.at))
    return np.asarray(np.clip(scores, 0.0, 1.0))


def overall(parts: Sequence[Floats]) -> Floats:
    """Return the geometric mean of desirabilities, arrays of one shape: 0 where any of them is 0."""
    return np.asarray(np.prod(np.stack(parts), axis=0) ** (1 / len(parts)))


def best(frame: Frame, desirabilities: Sequence[Value], bounds: Bounds, rng: np.random.Generator) -> Best:
    """Return the most desirable point within bounds; among equals, as on a plateau, the first."""

    def value(points: Floats) -> Floats:
        return overall([desirability(points) for desirability in desirabilities])

    pool = pooled(frame, bounds, rng)
    seen = value(pool)
    at, reached = pool[int(seen.argmax())], float(seen.max())
    ranges = [index for index, many in enumerate(frame.choices) if not many]
    if ranges:
        for start in pool[np.argsort(-seen, kind="stable")[:FROM]]:
            point = _climbed(value, start, ranges, bounds)
            if (high := float(value(point[None, :])[0])) > reached:
                at, reached = point, high
    return Best(at, reached, tuple(float(desirability(at[None, :])[0]) for desirability in desirabilities))


def pooled(frame: Frame, bounds: Bounds, rng: np.random.Generator) -> Floats:
    """Return points that fill the bounds evenly (Sobol), at every combination of choices."""
    every = combinations_of(frame)
    count = 2 ** max(6, round(np.log2(POOL / len(every))))
    unit = qmc.Sobol(len(frame.choices), seed=rng).random(count)
    some = bounds.low + unit * (bounds.high - bounds.low)
    chosen = np.array(frame.choices) > 0
    return np.vstack([np.where(chosen, np.array(choice, dtype=np.float64), some) for choice in every])


def _climbed(value: Value, start: Floats, ranges: Sequence[int], bounds: Bounds) -> Floats:
    """Climb from one point by the simplex, restarted where it ended, since a simplex that has become flat cannot
    move."""
    at = start.copy()

    def lowered(places: Floats) -> float:
        point = at.copy()
        point[ranges] = places
        return -float(value(point[None, :])[0])

    limits = list(zip(bounds.low[ranges], bounds.high[ranges], strict=True))
    step = 0.1
    for _ in range(RESTARTS):
        here = at[ranges]
        simplex = np.vstack([here, here + step * np.diag(np.where(here > 0, -1.0, 1.0))])
        simplex = np.clip(simplex, bounds.low[ranges], bounds.high[ranges])
        result = minimize(
            lowered,
            here,
            method="Nelder-Mead",
            bounds=limits,
            options={"initial_simplex": simplex, "xatol": 1e-10, "fatol": 1e-14, "maxiter": 400 * len(ranges)},
        )
        moved = float(np.abs(result.x - here).max())
        at[ranges] = result.x
        step = max(1e-4, min(0.1, 2 * moved))
    return at
