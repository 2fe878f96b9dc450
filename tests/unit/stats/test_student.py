"""Student's t and what it is made of, next to those of scipy, which becalm need not import for a short comparison."""

from __future__ import annotations

import math

import pytest
from scipy import special

from becalm.stats.normal import ndtr
from becalm.stats.student import betainc, gammaincc, stdtr, stdtrit

DIGITS = 1e-11
FREEDOMS = (0.5, 1, 2, 2.5, 3, 7, 16, 29.3, 100, 1234.5, 9_999, 10_001, 1e5, 3e6)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_student(freedom: float) -> None:
    """From far in the lower tail to the upper one, at few and at millions of degrees of freedom."""
    for t in (-40.0, -3.1, -1.0, -1e-4, 0.0, 0.2, 2.2, 9.0):
        assert stdtr(freedom, t) == pytest.approx(float(special.stdtr(freedom, t)), rel=DIGITS, abs=1e-300), t


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_student_quantile(freedom: float) -> None:
    """At the levels that intervals have, and far beyond."""
    for p in (1e-12, 1e-4, 0.005, 0.025, 0.0999, 0.1001, 0.4, 0.5, 0.6, 0.975, 0.9999):
        assert stdtrit(freedom, p) == pytest.approx(float(special.stdtrit(freedom, p)), rel=DIGITS, abs=1e-12), p


def test_student_beyond_what_it_takes() -> None:
    """Without freedom there is no number, at infinite freedom it is the normal one, at 0 and 1 the ends."""
    assert math.isnan(stdtr(0.0, 1.0))
    assert math.isnan(stdtrit(-1.0, 0.9))
    assert math.isnan(stdtrit(3.0, 1.1))
    assert stdtrit(math.inf, 0.975) == pytest.approx(1.959963984540054, rel=1e-14)
    assert stdtr(math.inf, 1.0) == pytest.approx(ndtr(1.0), rel=1e-15)
    assert (stdtrit(3.0, 0.0), stdtrit(3.0, 1.0)) == (-math.inf, math.inf)
    assert (stdtr(3.0, -math.inf), stdtr(3.0, math.inf)) == (0.0, 1.0)


@pytest.mark.parametrize("a", [0.2, 0.5, 1.0, 3.7, 15.9, 16.1, 80.0, 4e4])
@pytest.mark.parametrize("b", [0.3, 0.5, 1.0, 7.0, 900.0])
def test_incomplete_beta(a: float, b: float) -> None:
    """On both sides of its middle, where the fraction is of the other tail."""
    for x in (0.01, 0.1, 0.49, 0.5, 0.9, a / (a + b), 0.999):
        expected = float(special.betainc(a, b, x))
        if expected > 1e-200:
            assert betainc(a, b, x) == pytest.approx(expected, rel=DIGITS), x
    assert (betainc(a, b, 0.0), betainc(a, b, 1.0)) == (0.0, 1.0)


@pytest.mark.parametrize("a", [0.5, 1.0, 5.0, 16.0, 300.0, 9e3])
def test_upper_incomplete_gamma(a: float) -> None:
    """By the series below a + 1, by the fraction above."""
    for x in (0.01, 0.3 * a, a, a + 0.9, a + 1.1, a + 5 * math.sqrt(a), 3 * a):
        expected = float(special.gammaincc(a, x))
        if expected > 1e-200:
            assert gammaincc(a, x) == pytest.approx(expected, rel=DIGITS), x
    assert (gammaincc(a, 0.0), gammaincc(a, math.inf)) == (1.0, 0.0)
