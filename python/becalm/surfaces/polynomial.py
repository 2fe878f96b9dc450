"""Polynomials of up to the third power of each variable: values, gradients, and highest points within bounds.

Along one variable such a polynomial is a cubic, whose highest point between two ends is known exactly. Going from
variable to variable climbs, for many polynomials and starts at once; Newton's steps finish the climb.

Public: Polynomial, monomials, climb, highest.
"""

from __future__ import annotations

import msgspec
import numpy as np

from becalm.stats.arrays import Floats, Ints

SWEEPS = 400

ROUNDING = 1e-12
"""Relative difference of two values that rounding alone may cause."""


class Polynomial(msgspec.Struct, frozen=True):
    """A sum of monomials: `exponents`, shape (terms, variables), and `coefficients`, shape (terms,)."""

    exponents: Ints
    coefficients: Floats

    def __call__(self, at: Floats) -> Floats:
        """Return the values at points, shape (n, variables) to (n,)."""
        return np.asarray(monomials(at, self.exponents) @ self.coefficients)

    def derivative(self, variable: int) -> Polynomial:
        """Return the derivative with respect to one variable."""
        power = self.exponents[:, variable]
        lower = self.exponents.copy()
        lower[:, variable] = np.maximum(power - 1, 0)
        return Polynomial(lower, self.coefficients * power)

    def gradient(self, at: Floats, variables: Ints) -> Floats:
        """Return the gradient at one point, shape (variables,), with respect to some variables."""
        return np.array([float(self.derivative(int(variable))(at[None, :])[0]) for variable in variables])

    def hessian(self, at: Floats, variables: Ints) -> Floats:
        """Return the Hessian matrix at one point with respect to some variables."""
        return np.array([self.derivative(int(variable)).gradient(at, variables) for variable in variables])


def monomials(at: Floats, exponents: Ints) -> Floats:
    """Return products of powers at points: (n, variables) and (terms, variables) to (n, terms).

    Most exponents are 0 or 1, so that multiplying is many times as fast as raising to a power."""
    result = np.ones((len(at), len(exponents)))
    for variable in range(exponents.shape[1]):
        power = exponents[:, variable]
        for least in range(1, int(power.max(initial=0)) + 1):
            result[:, power >= least] *= at[:, variable, None]
    return result


def climb(
    exponents: Ints, coefficients: Floats, starts: Floats, low: Floats, high: Floats, tolerance: float = 1e-7
) -> Floats:
    """Return high points of polynomials, shape (n, variables), climbed to from `starts` of the same shape.

    `coefficients`: of shape (n, terms). `low`, `high`: shape (variables,); variables with equal ends do not move."""
    at = starts.copy()
    moving = np.flatnonzero(high > low)
    of_second_order = int(exponents.sum(axis=1).max(initial=0)) <= 2
    along = (_SecondOrder if of_second_order else _AnyOrder)(exponents, coefficients).along
    for _ in range(SWEEPS):
        moved = 0.0
        for variable in moving:
            best = _highest_of_cubic(*along(at, int(variable)), low[variable], high[variable])
            moved = max(moved, float(np.abs(best - at[:, variable]).max()))
            at[:, variable] = best
        if moved < tolerance:
            break
    return at


class _AnyOrder:
    """Polynomials along one variable while all others are fixed: coefficients of the first three powers."""

    def __init__(self, exponents: Ints, coefficients: Floats) -> None:
        self._exponents, self._coefficients = exponents, coefficients

    def along(self, at: Floats, variable: int) -> tuple[Floats, Floats, Floats]:
        """Return the three coefficients along a variable at points, shape (n, variables); each of shape (n,)."""
        present = np.flatnonzero(self._exponents[:, variable] > 0)
        rest = self._exponents[present].copy()
        power = rest[:, variable].copy()
        rest[:, variable] = 0
        products = self._coefficients[:, present] * monomials(at, rest)
        c1, c2, c3 = (products[:, power == exponent].sum(axis=1) for exponent in (1, 2, 3))
        return c1, c2, c3


class _SecondOrder:
    """Polynomials of second order along one variable: with slopes and a matrix, the coefficients are one product."""

    def __init__(self, exponents: Ints, coefficients: Floats) -> None:
        count, variables = len(coefficients), exponents.shape[1]
        self._slopes, self._bends = np.zeros((count, variables)), np.zeros((variables, count, variables))
        for term, powers in enumerate(exponents):
            members = np.repeat(np.arange(variables), powers)
            if len(members) == 1:
                self._slopes[:, members[0]] += coefficients[:, term]
            elif len(members) == 2:
                first, other = members
                self._bends[first, :, other] += coefficients[:, term]
                if first != other:
                    self._bends[other, :, first] += coefficients[:, term]

    def along(self, at: Floats, variable: int) -> tuple[Floats, Floats, Floats]:
        """Return the coefficients along a variable, as `_AnyOrder` does."""
        bends = self._bends[variable]
        curvature = bends[:, variable]
        slope = self._slopes[:, variable] + np.einsum("ij,ij->i", bends, at) - curvature * at[:, variable]
        return slope, curvature, np.zeros(len(at))


def highest(polynomial: Polynomial, starts: Floats, low: Floats, high: Floats) -> Floats:
    """Return the highest point of one polynomial within bounds, shape (variables,), to the last digits.

    `starts`: shape (n, variables)."""
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
        before, after = polynomial(np.stack([at, to]))
        # Near the top, rounding may turn a gain into a tiny loss.
        if after < before - ROUNDING * max(1.0, abs(before)):
            break
        done = bool(np.abs(to - at).max() < 1e-14)
        at = to
        if done:
            break
    return np.asarray(at)


def _highest_of_cubic(c1: Floats, c2: Floats, c3: Floats, low: float, high: float) -> Floats:
    """Return the place where c1 t + c2 t^2 + c3 t^3 is highest between two ends."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(c2 * c2 - 3 * c1 * c3)
        # Both roots of the derivative without loss of digits, and the single root for c3 = 0.
        q = -(c2 + np.where(c2 >= 0, 1.0, -1.0) * root)
        places = np.stack([np.full_like(c1, low), np.full_like(c1, high), q / (3 * c3), c1 / q])
    places = np.where(np.isfinite(places), np.clip(places, low, high), low)
    values = places * (c1 + places * (c2 + places * c3))
    return np.asarray(np.take_along_axis(places, values.argmax(axis=0)[None, :], axis=0)[0])
