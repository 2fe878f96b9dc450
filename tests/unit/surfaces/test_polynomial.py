"""Highest points of polynomials."""

import numpy as np
import pytest

from becalm.surfaces.polynomial import Polynomial, _AnyOrder, _SecondOrder, climb, highest
from becalm.surfaces.terms import Frame

CUBIC = np.array([[0, 0], *(term.exponents for term in Frame((0, 0)).terms("cubic"))])


def test_values_and_slopes():
    polynomial = Polynomial(np.array([[0, 0], [1, 0], [2, 1]]), np.array([1.0, 2.0, 3.0]))
    at = np.array([2.0, 5.0])
    assert polynomial(at[None, :])[0] == 1 + 4 + 60
    assert polynomial.gradient(at, np.arange(2)) == pytest.approx([2 + 60, 12])
    assert polynomial.hessian(at, np.arange(2)) == pytest.approx(np.array([[30.0, 12.0], [12.0, 0.0]]))


def test_the_highest_point_is_that_of_a_fine_grid():
    rng = np.random.default_rng(7)
    side = np.linspace(-1, 1, 201)
    grid = np.array([(a, b) for a in side for b in side])
    low, high = np.full(2, -1.0), np.ones(2)
    for _ in range(25):
        polynomial = Polynomial(CUBIC, rng.normal(size=len(CUBIC)))
        at = highest(polynomial, rng.uniform(-1, 1, (30, 2)), low, high)
        assert polynomial(at[None, :])[0] >= polynomial(grid).max() - 1e-12
        assert (np.abs(at) <= 1).all()


def test_a_variable_without_room_stays():
    polynomial = Polynomial(np.array([[1, 0], [0, 1]]), np.array([1.0, 1.0]))
    at = climb(
        polynomial.exponents,
        polynomial.coefficients[None, :],
        np.array([[0.3, 0.0]]),
        np.array([0.3, -1]),
        np.array([0.3, 1]),
    )
    assert at[0] == pytest.approx([0.3, 1.0])


def test_a_polynomial_of_second_order_is_the_same_along_a_variable_either_way():
    rng = np.random.default_rng(8)
    exponents = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [2, 0, 0], [0, 0, 2]])
    coefficients, at = rng.standard_normal((5, 8)), rng.uniform(-1, 1, (5, 3))
    for variable in range(3):
        either = [kind(exponents, coefficients).along(at, variable) for kind in (_SecondOrder, _AnyOrder)]
        for first, other in zip(*either, strict=True):
            assert first == pytest.approx(other)
