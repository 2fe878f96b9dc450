"""Student's t, the incomplete beta and gamma functions: `stdtr`, `stdtrit`, `betainc`, `gammaincc` of single numbers.

They are named as in scipy.special, which is not imported for the reason given in normal.py; the tests compare them with
it. The method is continued fractions (Press et al. 2007, Numerical Recipes, 3rd ed., sections 6.2 and 6.4); the factor
before them comes from the differences of Stirling's formula from the gamma function, so that no digits are lost at many
degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from becalm.stats.normal import ndtri

PRECISION = 1e-15
SMALLEST = 1e-300
STEPS = 100_000
"""The most terms of a fraction or series, far more than the square root of its arguments, which it needs."""

LAST_STEP = 1e-9
"""The step of Newton's method after which it ends: each step doubles the digits, so the next one would add none."""

MOST_STEPS = 100

FEW = 3.0
"""The degrees of freedom from which the start of that method is better than the normal value."""

SERIES = 16.0
"""The argument from which the series of five terms gives the remainder of Stirling's formula to 16 digits."""

MANY = 10_000.0
"""The degrees of freedom from which t is a normal value with a correction, to all digits."""

CENTRE = 0.1
"""The tail probability from which tails are nearly straight in t; smaller ones are when both axes are logarithmic."""


def betainc(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b): the probability that a beta(a, b) value is at most
    `x`."""
    return _beta(a, b, x, 1.0 - x)


def stdtr(freedom: float, t: float) -> float:
    """Return the probability that Student's t with `freedom` degrees is at most `t`; nan unless `freedom` is above
    0."""
    if not freedom > 0.0 or math.isnan(t):
        return math.nan
    tail = _tail(freedom, abs(t))
    return tail if t <= 0.0 else 1.0 - tail


def stdtrit(freedom: float, p: float) -> float:
    """Return the value that Student's t with `freedom` degrees does not exceed with probability `p`; nan for invalid
    input."""
    if not (freedom > 0.0 and 0.0 <= p <= 1.0):
        return math.nan
    least = min(p, 1.0 - p)
    if least == 0.0:
        return math.copysign(math.inf, p - 0.5)
    start = -ndtri(least)
    if math.isinf(freedom) or start <= 0.0:
        return math.copysign(start, p - 0.5)
    t = start
    if freedom > FEW:  # Cornish & Fisher 1938, to the second term
        z = start
        t += (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    # Newton's method: a tail falls, and is convex, so no overshoot lasts.
    for _ in range(MOST_STEPS):
        tail = _tail(freedom, t)
        slope = _density(freedom, t)
        if least > CENTRE:
            step = (tail - least) / slope
            next_t = t + step
        else:
            next_t = t * math.exp(min(30.0, math.log(tail / least) * tail / (t * slope)))
        converged, t = abs(next_t - t) <= LAST_STEP * next_t, next_t
        if converged:
            break
    return math.copysign(t, p - 0.5)


def gammaincc(a: float, x: float) -> float:
    """Return the regularized upper incomplete gamma function Q(a, x): the probability that a gamma(a) value is above
    `x`."""
    if x < 0.0 or not a > 0.0:
        return math.nan
    if x == 0.0 or math.isinf(x):
        return 1.0 if x == 0.0 else 0.0
    # x^a e^-x / gamma(a) by Stirling's formula, with the large terms cancelled.
    gap = (x - a) / a
    factor = math.sqrt(a / (2 * math.pi)) * math.exp(-a * (gap - _log1p(gap, x / a)) - _remainder(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        for n in range(1, STEPS):
            term *= x / (a + n)
            total += term
            if term < total * PRECISION:
                break
        return 1.0 - factor * total
    return factor * _fraction(x + 1.0 - a, ((-n * (n - a), x + 1.0 - a + 2 * n) for n in range(1, STEPS)))


def _tail(freedom: float, t: float) -> float:
    """Return the probability that Student's t is above `t`, which is not negative."""
    if math.isinf(freedom):
        return math.erfc(t / math.sqrt(2.0)) / 2.0
    if math.isinf(t):
        return 0.0
    if freedom > MANY:
        return math.erfc(_normal(freedom, t) / math.sqrt(2.0)) / 2.0
    ratio = t * (t / freedom)
    return 0.5 * _beta(freedom / 2.0, 0.5, 1.0 / (1.0 + ratio), ratio / (1.0 + ratio))


def _normal(freedom: float, t: float) -> float:
    """Return the normal value with the tail of `t` (Hill 1970, Communications of the ACM 13:617, algorithm 395)."""
    a = freedom - 0.5
    b = 48.0 * a * a
    y = a * math.log1p(t * (t / freedom))
    correction = (((-0.4 * y - 3.3) * y - 24.0) * y - 85.5) / (0.8 * y * y + 100.0 + b)
    return ((correction + y + 3.0) / b + 1.0) * math.sqrt(y)


def _density(freedom: float, t: float) -> float:
    half = freedom / 2.0
    shift = _remainder(half + 0.5) - _remainder(half) + half * math.log1p(0.5 / half) - 0.5
    return math.exp(shift - (half + 0.5) * math.log1p(t * (t / freedom))) / math.sqrt(2 * math.pi)


def _beta(a: float, b: float, x: float, y: float) -> float:
    """Return I_x(a, b); `y` = 1 - x is passed with more digits than the difference has."""
    if math.isnan(x) or not (a > 0.0 and b > 0.0):
        return math.nan
    if x <= 0.0 or y <= 0.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta_fraction(b, a, y, x)
    return _beta_fraction(a, b, x, y)


def _beta_fraction(a: float, b: float, x: float, y: float) -> float:
    total = a + b
    gap = (x * b - y * a) / total  # x - a / (a + b), and the other way round for y
    exponent = a * _log1p(gap * total / a, x * total / a) + b * _log1p(-gap * total / b, y * total / b)
    shift = _remainder(total) - _remainder(a) - _remainder(b)
    factor = math.sqrt(a * b / (2 * math.pi * total)) * math.exp(exponent + shift)

    def terms() -> Iterable[tuple[float, float]]:
        for m in range(STEPS):
            yield -(a + m) * (total + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1.0
            n = m + 1
            yield n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n)), 1.0

    return factor / a * _fraction(1.0, terms())


def _fraction(first: float, terms: Iterable[tuple[float, float]]) -> float:
    """Return 1 / (first + a1 / (b1 + a2 / (b2 + ...))) for terms (a, b), by Lentz's method."""
    c, d = 1.0 / SMALLEST, 1.0 / (first or SMALLEST)
    result = d
    for a, b in terms:
        d = 1.0 / ((a * d + b) or SMALLEST)
        c = (b + a / c) or SMALLEST
        change = c * d
        result *= change
        if abs(change - 1.0) <= PRECISION:
            break
    return result


def _log1p(gap: float, ratio: float) -> float:
    """Return log(ratio) where ratio = 1 + gap; near 1 from the gap, which has more digits."""
    return math.log1p(gap) if abs(gap) < 0.5 else math.log(ratio)


def _remainder(x: float) -> float:
    """Return log gamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2)."""
    if x >= SERIES:
        y = 1.0 / (x * x)
        return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188))))) / x
    return math.lgamma(x) - ((x - 0.5) * math.log(x) - x + math.log(2 * math.pi) / 2)
