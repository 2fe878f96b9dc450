"""The normal distribution `ndtr` and its inverse `ndtri`, named as in scipy.special.

With scipy.special the shortest comparison takes 0.57 s of CPU time instead of 0.27 s (its runs are too short to import
it in the meantime); the tests compare these functions with it.
"""

from __future__ import annotations

import math
from typing import overload

import numpy as np

from becalm.stats.arrays import Floats

CENTRE = 0.425
"""The distance from 1/2 up to which the first of the three approximations holds."""

FAR = 5.0
"""The value of sqrt(-log p) from which the third approximation holds."""

# Numerator and denominator of each approximation, from the highest power down (Wichura 1988, PPND16).
_INNER = (
    (
        2.509080928730122672700e3,
        3.343057558358812810500e4,
        6.726577092700870085300e4,
        4.592195393154987145700e4,
        1.373169376550946112500e4,
        1.971590950306551442700e3,
        1.331416678917843774500e2,
        3.387132872796366608000e0,
    ),
    (
        5.226495278852854561000e3,
        2.872908573572194267400e4,
        3.930789580009271061000e4,
        2.121379430158659586700e4,
        5.394196021424751107700e3,
        6.871870074920579083000e2,
        4.231333070160091125200e1,
        1.0,
    ),
)
_TAIL = (
    (
        7.745450142783414076400e-4,
        2.272384498926918458330e-2,
        2.417807251774506117700e-1,
        1.270458252452368382580e0,
        3.647848324763204605040e0,
        5.769497221460691405500e0,
        4.630337846156545295900e0,
        1.423437110749683577340e0,
    ),
    (
        1.050750071644416843240e-9,
        5.475938084995344946000e-4,
        1.519866656361645719660e-2,
        1.481039764274800745900e-1,
        6.897673349851000045500e-1,
        1.676384830183803849400e0,
        2.053191626637758821870e0,
        1.0,
    ),
)
_FAR_TAIL = (
    (
        2.010334399292288132650e-7,
        2.711555568743487578150e-5,
        1.242660947388078438600e-3,
        2.653218952657612309300e-2,
        2.965605718285048912300e-1,
        1.784826539917291335800e0,
        5.463784911164114369900e0,
        6.657904643501103777200e0,
    ),
    (
        2.044263103389939785640e-15,
        1.421511758316445888700e-7,
        1.846318317510054681800e-5,
        7.868691311456132591000e-4,
        1.487536129085061485250e-2,
        1.369298809227358053100e-1,
        5.998322065558879376900e-1,
        1.0,
    ),
)


@overload
def ndtr(x: float) -> float: ...
@overload
def ndtr(x: Floats) -> Floats: ...
def ndtr(x: float | Floats) -> float | Floats:
    """Return the probability that a normal value is at most `x`, with the full relative precision of the lower tail."""
    if isinstance(x, np.ndarray):
        scaled = -x / math.sqrt(2.0)
        tails = np.fromiter(map(math.erfc, scaled.ravel().tolist()), np.float64, scaled.size)
        return np.asarray(tails.reshape(scaled.shape) / 2.0)
    return math.erfc(-x / math.sqrt(2.0)) / 2.0


@overload
def ndtri(p: float) -> float: ...
@overload
def ndtri(p: Floats) -> Floats: ...
def ndtri(p: float | Floats) -> float | Floats:
    """Return the value that a normal one does not exceed with probability `p`; -inf at 0, inf at 1, nan outside of 0 to
    1.

    To 16 digits (Wichura 1988, Applied Statistics 37:477, algorithm AS 241).
    """
    if not isinstance(p, np.ndarray):
        return float(_quantiles(np.array([p], dtype=np.float64))[0])
    return _quantiles(np.asarray(p, dtype=np.float64))


def _quantiles(p: Floats) -> Floats:
    fraction = np.full(p.shape, math.nan)
    q = p - 0.5
    inner = np.abs(q) <= CENTRE
    fraction[inner] = q[inner] * _ratio(_INNER, CENTRE**2 - q[inner] ** 2)
    outer = (np.abs(q) <= 0.5) & ~inner
    if outer.any():
        sign, least = np.sign(q[outer]), np.minimum(p, 1.0 - p)[outer]
        with np.errstate(divide="ignore", invalid="ignore"):
            r = np.sqrt(-np.log(least))
            size = np.where(r <= FAR, _ratio(_TAIL, r - 1.6), _ratio(_FAR_TAIL, r - FAR))
        fraction[outer] = sign * np.where(least > 0.0, size, math.inf)
    return fraction


def _ratio(terms: tuple[tuple[float, ...], tuple[float, ...]], r: Floats) -> Floats:
    """Return the ratio of two polynomials of `r`."""
    numerator, denominator = (np.polyval(np.array(term), r) for term in terms)
    return np.asarray(numerator / denominator)
