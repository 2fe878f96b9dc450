"""A step in one factor: beyond an edge everything takes longer, as where a slice outgrows a tick or data a cache.

A surface without steps takes the few slow runs beyond an edge for noise, then trusts no run, and keeps away from the
edge, beside which the best place may be. So a step is part of the surface where the runs speak for it: a change point
in one factor, of a normal size, midway between two measured places. Whether, and where: the Bayes factor of the surface
with it against that without it, which is that of one column more (Rasmussen & Williams 2006, 2.7; Kass & Raftery 1995),
on the same weights. `becalm.methods.surface_process` asks `likeliest` before it learns the weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from becalm.methods.surface_covariance import Columns, CovariancePlaces
from becalm.stats.arrays import Floats

VARIANCE = 4.0
"""The variance of the size of a step, in variances of the response."""

ODDS = 2.0
"""The prior odds of a step somewhere in some factor: with more, bowls and valleys take more runs."""

SOONEST = 6
"""Runs beyond one for each factor from which on steps are looked for."""


@dataclass(frozen=True, slots=True)
class SurfaceStep:
    """A step: the number of its factor, and where, in coded units."""

    factor: int
    edge: float

    def sides(self, places: CovariancePlaces) -> Floats:
        """Return the side of places, shape (n,): half of a step below or above."""
        at = places.numbers[places.columns.first[self.factor]]
        return np.where(at > self.edge, 0.5, -0.5)

    def joint(self, places: CovariancePlaces, other: CovariancePlaces) -> Floats:
        """Return its contribution to the covariance of places, shape (n, m)."""
        return np.asarray(VARIANCE * np.outer(self.sides(places), self.sides(other)))


def likeliest(places: CovariancePlaces, root: Floats, alpha: Floats) -> SurfaceStep | None:
    """Return the step that the runs support most; None where they are against any.

    `root`: inverse of the Cholesky factor of the covariance of all runs without a step, `places` the first of them;
    `alpha`: that covariance's inverse times the responses.
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
    told, size = sides.T @ alpha[:count], 1 / VARIANCE + (known**2).sum(axis=0)
    # An edge is anywhere with the same probability, so the width between two runs is that of their step.
    prior = np.log(np.array(widths) / 2 / int(places.columns.ranges.sum()))
    factors = 0.5 * told**2 / size - 0.5 * np.log(VARIANCE * size) + prior + math.log(ODDS)
    best = int(np.argmax(factors))
    return steps[best] if factors[best] > 0 else None


def _between(places: CovariancePlaces, columns: Columns) -> Iterator[tuple[SurfaceStep, float]]:
    """Yield steps midway between neighbouring places of each range, and the distance there."""
    for factor in np.flatnonzero(columns.ranges):
        at = np.unique(places.numbers[columns.first[factor]])
        for low, high in zip(at[:-1].tolist(), at[1:].tolist(), strict=True):
            yield SurfaceStep(int(factor), (low + high) / 2), high - low
