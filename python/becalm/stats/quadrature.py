"""Nodes and weights of Gauss-Legendre quadrature.

numpy computes them from the eigenvalues of a matrix; its polynomials and the start of linear algebra would delay a
short comparison by some 40 ms before its first look at the data. These come from the roots themselves.

Public: gauss_legendre.
"""

from __future__ import annotations

import numpy as np

from becalm.stats.arrays import Floats

STEPS = 5
"""The number of steps of Newton's method, which doubles the digits of each root: the first guess has four or more."""


def gauss_legendre(count: int) -> tuple[Floats, Floats]:
    """Return nodes from -1 to 1, ascending, and weights, of shape (count,), exact for polynomials of degree 2 count -
    1.

    First guesses are Tricomi's (Abramowitz & Stegun 1964, 22.16.6), the recurrence is 22.7.10, the derivative 22.8.5,
    the weights 25.4.29.
    """
    number = np.arange(count, 0, -1)
    x = np.cos(np.pi * (number - 0.25) / (count + 0.5)) * (1 - (count - 1) / (8 * count**3))
    for _ in range(STEPS):
        before, value = np.ones(count), x
        for degree in range(2, count + 1):
            before, value = value, ((2 * degree - 1) * x * value - (degree - 1) * before) / degree
        slope = count * (before - x * value) / (1 - x * x)
        x = x - value / slope
    return x, 2 / ((1 - x * x) * slope * slope)
