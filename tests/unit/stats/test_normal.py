"""The normal distribution that becalm has itself, next to that of scipy, which it need not import for a comparison."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from becalm.stats.normal import ndtr, ndtri


@pytest.mark.parametrize("x", [-37.0, -8.3, -1.96, -0.3, 0.0, 1e-9, 0.7, 2.6, 8.0])
def test_normal(x: float) -> None:
    """Also far in the lower tail."""
    assert ndtr(x) == pytest.approx(float(special.ndtr(x)), rel=1e-12, abs=0.0)


@pytest.mark.parametrize(
    "p", [1e-300, 1e-20, 1.3e-11, 1.5e-11, 1e-5, 0.0249, 0.074, 0.076, 0.5, 0.924, 0.99, 1 - 1e-12]
)
def test_normal_quantile(p: float) -> None:
    """In the middle, in the tails, and where one approximation gives way to the next."""
    assert ndtri(p) == pytest.approx(float(special.ndtri(p)), rel=1e-14, abs=1e-300)


def test_normal_of_arrays() -> None:
    """Series go in and come out as they are; the ends are infinite and what is no probability is not a number."""
    p = np.array([[0.0, 1.0, 0.2], [-0.1, 1.1, math.nan]])
    assert np.array_equal(ndtri(p), special.ndtri(p), equal_nan=True) or np.allclose(
        ndtri(p), special.ndtri(p), rtol=1e-14, equal_nan=True
    )
    x = np.linspace(-9, 9, 37)
    assert np.allclose(ndtr(x), special.ndtr(x), rtol=1e-13, atol=0.0)
