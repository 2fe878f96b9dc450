"""Gauss-Legendre quadrature against numpy's and against integrals that are known."""

import numpy as np
import pytest

from becalm.stats.quadrature import gauss_legendre


@pytest.mark.parametrize("count", [1, 2, 3, 10, 160])
def test_nodes_and_weights_are_numpys(count):
    nodes, weights = gauss_legendre(count)
    expected = np.polynomial.legendre.leggauss(count)
    np.testing.assert_allclose(nodes, expected[0], rtol=0, atol=2e-15)
    np.testing.assert_allclose(weights, expected[1], rtol=1e-10, atol=1e-15)


def test_polynomials_are_integrated_exactly():
    """The degree is 2n - 1 and no more: two nodes are exact for a cube, and not for the fourth power."""
    nodes, weights = gauss_legendre(2)
    assert weights @ (nodes**3 + nodes**2) == pytest.approx(2 / 3, abs=1e-15)
    assert weights @ nodes**4 == pytest.approx(2 / 9, abs=1e-15)
    nodes, weights = gauss_legendre(160)
    assert weights @ np.exp(nodes) == pytest.approx(np.exp(1) - np.exp(-1), abs=1e-14)
