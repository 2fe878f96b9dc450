"""A step in one factor: beyond an edge everything takes longer, as where a slice outgrows a tick or data a cache.

A surface without steps treats the few slow runs beyond an edge as noise, so it overestimates the noise and stays away
from the edge, next to which the best place may be. So a step is part of the surface if the runs support it: a change
point in one factor, with a normal size, midway between two measured places. It is decided by the Bayes factor of the
surface with the step against that without it, which is that of a further column (Rasmussen & Williams 2006, 2.7; Kass &
Raftery 1995), with the same weights. `becalm.methods.surface_process` calls `likeliest` before it learns the weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from becalm.methods.surface_covariance import Columns, CovariancePlaces
from becalm.stats.arrays import Floats

VARIANCE = 4.0
"""The variance of the size of a step, in variances of the response."""

ODDS = 2.0
"""The prior odds of a step anywhere in any factor; with higher odds, bowls and valleys need more runs."""

SOONEST = 6
"""The number of runs, beyond one for each factor, from which steps are considered."""


class SurfaceStep(msgspec.Struct, frozen=True):
    """A step: the index of its factor, and its place in coded units."""

    factor: int
    edge: float

    def sides(self, places: CovariancePlaces) -> Floats:
        """Return the sides of places, shape (n,): -0.5 below the edge and 0.5 above."""
        at = places.numbers[places.columns.first[self.factor]]
        return np.where(at > self.edge, 0.5, -0.5)

    def joint(self, places: CovariancePlaces, other: CovariancePlaces) -> Floats:
        """Return the contribution of the step to the covariance of places, shape (n, m)."""
        return np.asarray(VARIANCE * np.outer(self.sides(places), self.sides(other)))


def likeliest(places: CovariancePlaces, root: Floats, alpha: Floats) -> SurfaceStep | None:
    """Return the step that the runs support most; None if they support none.

    `places`: the first of the runs, those that are varied. `root`: the inverse of the Cholesky factor of the covariance
    of all runs without a step; `alpha`: the inverse of that covariance times the responses.
    """
    count = places.numbers.shape[1]
    steps, widths = [], []
    for step, width in _between(places, places.columns):
        steps.append(step)
        widths.append(width)
    if not steps:
        return None
    sides = np.array([step.sides(places) for step in steps]).T
    known = root[:, :count] @ sides
    projected, size = sides.T @ alpha[:count], 1 / VARIANCE + (known**2).sum(axis=0)
    # An edge has a uniform prior, so the probability of a step is proportional to the width between its runs.
    prior = np.log(np.array(widths) / 2 / int(places.columns.ranges.sum()))
    factors = 0.5 * projected**2 / size - 0.5 * np.log(VARIANCE * size) + prior + math.log(ODDS)
    best = int(np.argmax(factors))
    return steps[best] if factors[best] > 0 else None


def _between(places: CovariancePlaces, columns: Columns) -> Iterator[tuple[SurfaceStep, float]]:
    """Yield the steps midway between neighbouring places of each range, with the distance of these places."""
    for factor in np.flatnonzero(columns.ranges):
        at = np.unique(places.numbers[columns.first[factor]])
        for low, high in zip(at[:-1].tolist(), at[1:].tolist(), strict=True):
            yield SurfaceStep(int(factor), (low + high) / 2), high - low
