"""The shape of a quadratic surface: its stationary point and kind, its highest points at each distance, its ridges.

The surface is y = b0 + x'b + x'Bx. Canonical analysis: Box & Wilson 1951 (J. R. Stat. Soc. B 13:1); ridge analysis:
Hoerl 1959, Draper 1963 (Technometrics 5:469); both as in R's package rsm (Lenth 2009, J. Stat. Softw. 32:7).

Public: Quadratic, Canonical, canonical, ridge, path, steepest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from scipy.optimize import brentq

from becalm.stats.arrays import Floats
from becalm.surfaces.polynomial import Polynomial

FLAT = 0.1
"""Share of the strongest curvature below which a direction counts as a ridge, as in rsm."""


class Quadratic(msgspec.Struct, frozen=True):
    """A quadratic function: `constant`, `slope` of shape (k,), symmetric `bend` of shape (k, k)."""

    constant: float
    slope: Floats
    bend: Floats

    def __call__(self, at: Floats) -> Floats:
        """Return the values at points, shape (n, k) to (n,)."""
        return np.asarray(self.constant + at @ self.slope + np.einsum("ij,jk,ik->i", at, self.bend, at))

    @classmethod
    def of(cls, polynomial: Polynomial, at: Floats, variables: Sequence[int]) -> Quadratic:
        """Return a polynomial of second order in some variables, with the others fixed as in `at`."""
        chosen = np.array(variables)
        place = at.copy()
        place[chosen] = 0.0
        slope = polynomial.gradient(place, chosen)
        return cls(float(polynomial(place[None, :])[0]), slope, polynomial.hessian(place, chosen) / 2)


class Canonical(msgspec.Struct, frozen=True):
    """The stationary point (None where the surface has none, or a line of them), the value there, `kind`, and the
    eigenvalues, largest first, with their vectors as columns. `flat`: the numbers of the directions that are ridges."""

    point: Floats | None
    value: float
    kind: str
    eigenvalues: Floats
    vectors: Floats
    flat: tuple[int, ...]


def canonical(surface: Quadratic) -> Canonical:
    """Return the canonical analysis of a surface."""
    values, vectors = np.linalg.eigh(surface.bend)
    values, vectors = values[::-1], vectors[:, ::-1]
    # A vector and its negative are the same direction; the sign makes the largest member positive.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), range(len(values))])
    most = float(np.abs(values).max())
    if most == 0 or float(np.abs(values).min()) < 1e-10 * most:
        return Canonical(None, math.nan, "plane" if most == 0 else "ridge", values, vectors, tuple(range(len(values))))
    point = np.asarray(np.linalg.solve(surface.bend, -surface.slope / 2), dtype=np.float64)
    kind = "maximum" if values[0] < 0 else "minimum" if values[-1] > 0 else "saddle"
    flat = tuple(index for index, value in enumerate(values) if abs(value) < FLAT * most)
    return Canonical(point, float(surface(point[None, :])[0]), kind, values, vectors, flat)


def ridge(surface: Quadratic, radii: Sequence[float], *, largest: bool = True) -> Floats:
    """Return points on spheres about the centre where the surface is largest (or smallest), shape (radii, k)."""
    sign = 1.0 if largest else -1.0
    return np.array([_on_sphere(sign * surface.slope, sign * surface.bend, radius) for radius in radii])


def _on_sphere(slope: Floats, bend: Floats, radius: float) -> Floats:
    """Return the highest point at a distance from the centre, by Lagrange: (mu I - B) x = b / 2.

    mu is above the largest eigenvalue of B, and makes the length of x equal to `radius`.
    """
    if radius == 0:
        return np.zeros(len(slope))
    values, vectors = np.linalg.eigh(bend)
    along = vectors.T @ slope / 2
    top = float(values[-1])
    size = max(1.0, float(np.abs(values).max()), float(np.abs(along).max()))
    first = np.abs(values - top) < 1e-12 * size

    def length(gap: float) -> float:
        return float(np.linalg.norm(along / (top + gap - values)))

    if not (np.abs(along[first]) > 1e-13 * size).any():
        # The slope has no part along the steepest bend, nor has the point near the centre; beyond, either sign will do.
        rest = np.zeros_like(along)
        rest[~first] = along[~first] / (top - values[~first])
        if np.linalg.norm(rest) <= radius:
            rest[np.flatnonzero(first)[-1]] = math.sqrt(radius**2 - float(rest @ rest))
            return np.asarray(vectors @ rest)
    low = high = size
    while length(low) < radius:
        low /= 10
    while length(high) > radius:
        high *= 10
    gap = brentq(lambda middle: length(middle) - radius, low, high, xtol=1e-300, rtol=1e-14, maxiter=500)
    return np.asarray(vectors @ (along / (top + gap - values)))


def path(analysis: Canonical, distances: Sequence[float], *, largest: bool = True) -> Floats:
    """Return points at distances from the stationary point, along the direction in which the surface rises most, or
    falls most; shape (distances, k), empty without a stationary point."""
    if analysis.point is None:
        return np.empty((0, len(analysis.eigenvalues)))
    way = analysis.vectors[:, 0 if largest else -1]
    return np.array([analysis.point + distance * way for distance in distances])


def steepest(slope: Floats, *, ascent: bool = True) -> Floats:
    """Return the direction of steepest ascent of a plane, of length 1; zeros where it is level."""
    length = float(np.linalg.norm(slope))
    return np.asarray((1.0 if ascent else -1.0) * slope / length if length else np.zeros_like(slope))
