"""Shapley shares of R squared against their definition, and the fit against scipy's."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from becalm.load.importance import best_fit, inflation, moments, non_negative, r_squared, shapley, subsets


def data(seed, n=30, p=4):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) @ rng.normal(size=(p, p))
    return x, x @ rng.normal(size=p) + rng.normal(size=n)


def plain_r_squared(x, y):
    if x.shape[1] == 0:
        return 0.0
    a = np.column_stack([np.ones(len(y)), x])
    residual = y - a @ np.linalg.lstsq(a, y, rcond=None)[0]
    return 1 - residual @ residual / ((y - y.mean()) @ (y - y.mean()))


@pytest.mark.parametrize("seed", range(5))
def test_lmg_is_the_mean_over_all_orders_of_entering(seed):
    x, y = data(seed)
    gains = np.zeros(4)
    for order in itertools.permutations(range(4)):
        for place, each in enumerate(order):
            before = plain_r_squared(x[:, order[:place]], y)
            gains[each] += plain_r_squared(x[:, order[: place + 1]], y) - before
    found = shapley(r_squared(moments(x, y)))[0]
    assert found == pytest.approx(gains / math.factorial(4), abs=1e-6)
    assert found.sum() == pytest.approx(plain_r_squared(x, y), abs=1e-6)


def test_uncorrelated_predictors_have_their_own_r_squared():
    x = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    y = x @ np.array([3.0, 2.0, 1.0])
    assert shapley(r_squared(moments(x, y)))[0] == pytest.approx(np.array([9, 4, 1]) / 14, abs=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_the_non_negative_fit_is_scipys(seed):
    x, y = data(seed, p=5)
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    expected, norm = nnls(scaled, y - y.mean())
    covariance = moments(x, y)
    assert non_negative(covariance)[0] == pytest.approx(expected, abs=1e-6)
    explained = 1 - norm**2 / ((y - y.mean()) @ (y - y.mean()))
    assert r_squared(covariance, positive=True)[0, -1] == pytest.approx(explained, abs=1e-8)
    assert best_fit(x, y[np.newaxis])[0] == pytest.approx(explained, abs=1e-8)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_shares_of_groups_add_up(seed, positive):
    x, y = data(seed, n=15, p=5)
    weights = np.random.default_rng(seed).multinomial(15, np.full(15, 1 / 15), 7).astype(float)
    values = r_squared(moments(x, y, weights), positive=positive)
    shares = shapley(values, ((0, 2), (1,), (3, 4)))
    assert shares.sum(axis=1) == pytest.approx(values[:, -1], abs=1e-9)
    if positive:
        # More predictors never fit worse, so no share is negative.
        assert (shares >= -1e-9).all()


def test_weights_are_repeated_rows():
    x, y = data(3, n=12)
    weights = np.array([[2, 0, 1, 1, 3, 0, 1, 1, 0, 1, 1, 1]], dtype=float)
    rows = np.repeat(np.arange(12), weights[0].astype(int))
    assert r_squared(moments(x, y, weights))[0, -1] == pytest.approx(plain_r_squared(x[rows], y[rows]), abs=1e-7)


def test_inflation():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 200))
    x = np.column_stack([a, b, a + 0.1 * b])
    assert inflation(x, 0, (1,)) == pytest.approx(1, abs=0.05)
    assert inflation(x, 0, (2,)) > 50
    assert inflation(x, 0, (1, 2)) == math.inf
    assert inflation(x, 0, ()) == 1


def test_a_constant_response_has_nothing_to_share():
    x, _ = data(1)
    assert r_squared(moments(x, np.ones(30)))[0] == pytest.approx(np.zeros(16))
    assert len(subsets(3)) == 8


def test_too_many_predictors():
    x, y = data(0, n=40, p=11)
    with pytest.raises(ValueError, match="too many subsets"):
        r_squared(moments(x, y))
