"""Polynomials up to the third power of each variable: values, gradients, and their highest points within bounds.

Along one variable such a polynomial is a cubic, whose highest point between two ends is known exactly; going from
variable to variable climbs, for many polynomials and starts at once. Newton's steps finish it.

Public: Polynomial, monomials, climb, highest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from becalm.stats.arrays import Floats, Ints

SWEEPS = 400


@dataclass(frozen=True, slots=True)
class Polynomial:
    """`exponents`, shape (terms, variables), and `coefficients`, shape (terms,)."""

    exponents: Ints
    coefficients: Floats

    def __call__(self, at: Floats) -> Floats:
        """Values at points, shape (n, variables) to (n,)."""
        return np.asarray(monomials(at, self.exponents) @ self.coefficients)

    def derivative(self, variable: int) -> Polynomial:
        """By one variable."""
        power = self.exponents[:, variable]
        lower = self.exponents.copy()
        lower[:, variable] = np.maximum(power - 1, 0)
        return Polynomial(lower, self.coefficients * power)

    def gradient(self, at: Floats, variables: Ints) -> Floats:
        """At one point, shape (variables,), by some of them."""
        return np.array([float(self.derivative(int(each))(at[None, :])[0]) for each in variables])

    def hessian(self, at: Floats, variables: Ints) -> Floats:
        """At one point, by some variables."""
        return np.array([self.derivative(int(each)).gradient(at, variables) for each in variables])


def monomials(at: Floats, exponents: Ints) -> Floats:
    """Products of powers at points: (n, variables) and (terms, variables) to (n, terms). Most exponents are 0 or 1, so
    that multiplying is many times as fast as raising to a power."""
    found = np.ones((len(at), len(exponents)))
    for variable in range(exponents.shape[1]):
        power = exponents[:, variable]
        for least in range(1, int(power.max(initial=0)) + 1):
            found[:, power >= least] *= at[:, variable, None]
    return found


def climb(
    exponents: Ints, coefficients: Floats, starts: Floats, low: Floats, high: Floats, tolerance: float = 1e-7
) -> Floats:
    """Points where polynomials (`coefficients` of shape (n, terms)) are high, climbed to from `starts`, shape
    (n, variables), between `low` and `high`; variables whose two ends are equal stay where they are."""
    at = starts.copy()
    moving = np.flatnonzero(high > low)
    own = [np.flatnonzero(exponents[:, each] > 0) for each in moving]
    for _ in range(SWEEPS):
        moved = 0.0
        for variable, mine in zip(moving, own, strict=True):
            rest = exponents[mine].copy()
            power = rest[:, variable].copy()
            rest[:, variable] = 0
            parts = coefficients[:, mine] * monomials(at, rest)
            c1, c2, c3 = (parts[:, power == each].sum(axis=1) for each in (1, 2, 3))
            best = _highest_of_cubic(c1, c2, c3, low[variable], high[variable])
            moved = max(moved, float(np.abs(best - at[:, variable]).max()))
            at[:, variable] = best
        if moved < tolerance:
            break
    return at


def highest(polynomial: Polynomial, starts: Floats, low: Floats, high: Floats) -> Floats:
    """The highest point of one polynomial within bounds, from many starts, to the last digits."""
    many = np.broadcast_to(polynomial.coefficients, (len(starts), len(polynomial.coefficients)))
    ends = climb(polynomial.exponents, many, np.clip(starts, low, high), low, high)
    at = ends[int(np.argmax(polynomial(ends)))]
    for _ in range(20):
        gradient = polynomial.gradient(at, np.arange(len(at)))
        free = np.flatnonzero((high > low) & ~((at <= low) & (gradient < 0)) & ~((at >= high) & (gradient > 0)))
        if not len(free):
            break
        bend = polynomial.hessian(at, free)
        if np.linalg.eigvalsh(bend).max() >= 0:
            break
        to = at.copy()
        to[free] = np.clip(at[free] - np.linalg.solve(bend, gradient[free]), low[free], high[free])
        if polynomial(to[None, :])[0] < polynomial(at[None, :])[0]:
            break
        done = bool(np.abs(to - at).max() < 1e-14)
        at = to
        if done:
            break
    return np.asarray(at)


def _highest_of_cubic(c1: Floats, c2: Floats, c3: Floats, low: float, high: float) -> Floats:
    """Where c1 t + c2 t^2 + c3 t^3 is highest between two ends."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(c2 * c2 - 3 * c1 * c3)
        # Both roots of the derivative without loss of digits, and for c3 = 0 the one that there is.
        q = -(c2 + np.where(c2 >= 0, 1.0, -1.0) * root)
        places = np.stack([np.full_like(c1, low), np.full_like(c1, high), q / (3 * c3), c1 / q])
    places = np.where(np.isfinite(places), np.clip(places, low, high), low)
    values = places * (c1 + places * (c2 + places * c3))
    return np.asarray(np.take_along_axis(places, values.argmax(axis=0)[None, :], axis=0)[0])
