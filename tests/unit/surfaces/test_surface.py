"""A fitted surface."""

import numpy as np
import pytest
from tests.unit.surfaces.published import chemreact

from becalm.surfaces.surface import fitted


def test_it_stands_at_the_mean_of_the_blocks():
    data = chemreact()
    surface = fitted(data, data.frame.terms("quadratic"))
    assert surface.predict(np.zeros((1, 2)))[0] == pytest.approx(84.0954272034 - 4.4575297619 / 2)
    assert surface.polynomial(np.zeros((1, 2)))[0] == pytest.approx(surface.predict(np.zeros((1, 2)))[0])
    points = np.array([[0.3, -0.7], [1.0, 1.0]])
    assert surface.polynomial(points) == pytest.approx(surface.predict(points))


def test_drawn_polynomials_vary_as_the_estimates_do():
    data = chemreact()
    surface = fitted(data, data.frame.terms("quadratic"))
    drawn = surface.drawn(200_000, np.random.default_rng(1))
    # A t of 7 degrees of freedom has 7/5 of the variance.
    assert drawn[:, 1].std() == pytest.approx(surface.fit.errors[2] * (7 / 5) ** 0.5, rel=0.02)
    assert drawn.mean(axis=0) == pytest.approx(surface.polynomial.coefficients, abs=2e-3)


def test_leverage_is_the_variance_of_the_prediction():
    data = chemreact(blocks=(1,))
    surface = fitted(data, data.frame.terms("2fi"))
    assert surface.leverage(data.points) == pytest.approx(surface.fit.leverage)
