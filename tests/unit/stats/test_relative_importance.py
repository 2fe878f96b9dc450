"""Shapley shares of R squared against their definition, and the fit against scipy's."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from becalm.stats.relative_importance import (
    best_fit,
    inflation,
    moments,
    non_negative,
    r_squared,
    robust_weights,
    shapley,
    subsets,
)


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
        for place, index in enumerate(order):
            before = plain_r_squared(x[:, order[:place]], y)
            gains[index] += plain_r_squared(x[:, order[: place + 1]], y) - before
    shares = shapley(r_squared(moments(x, y)))[0]
    assert shares == pytest.approx(gains / math.factorial(4), abs=1e-6)
    assert shares.sum() == pytest.approx(plain_r_squared(x, y), abs=1e-6)


SWISS = """
    80.2 17.0 15 12 9.96 22.2; 83.1 45.1 6 9 84.84 22.2; 92.5 39.7 5 5 93.40 20.2; 85.8 36.5 12 7 33.77 20.3;
    76.9 43.5 17 15 5.16 20.6; 76.1 35.3 9 7 90.57 26.6; 83.8 70.2 16 7 92.85 23.6; 92.4 67.8 14 8 97.16 24.9;
    82.4 53.3 12 7 97.67 21.0; 82.9 45.2 16 13 91.38 24.4; 87.1 64.5 14 6 98.61 24.5; 64.1 62.0 21 12 8.52 16.5;
    66.9 67.5 14 7 2.27 19.1; 68.9 60.7 19 12 4.43 22.7; 61.7 69.3 22 5 2.82 18.7; 68.3 72.6 18 2 24.20 21.2;
    71.7 34.0 17 8 3.30 20.0; 55.7 19.4 26 28 12.11 20.2; 54.3 15.2 31 20 2.15 10.8; 65.1 73.0 19 9 2.84 20.0;
    65.5 59.8 22 10 5.23 18.0; 65.0 55.1 14 3 4.52 22.4; 56.6 50.9 22 12 15.14 16.7; 57.4 54.1 20 6 4.20 15.3;
    72.5 71.2 12 1 2.40 21.0; 74.2 58.1 14 8 5.23 23.8; 72.0 63.5 6 3 2.56 18.0; 60.5 60.8 16 10 7.72 16.3;
    58.3 26.8 25 19 18.46 20.9; 65.4 49.5 15 8 6.10 22.5; 75.5 85.9 3 2 99.71 15.1; 69.3 84.9 7 6 99.68 19.8;
    77.3 89.7 5 2 100.00 18.3; 70.5 78.2 12 6 98.96 19.4; 79.4 64.9 7 3 98.22 20.2; 65.0 75.9 9 9 99.06 17.8;
    92.2 84.6 3 3 99.46 16.3; 79.3 63.1 13 13 96.83 18.1; 70.4 38.4 26 12 5.62 20.3; 65.7 7.7 29 11 13.79 20.5;
    72.7 16.7 22 13 11.22 18.9; 64.4 17.6 35 32 16.92 23.0; 77.6 37.6 15 7 4.97 20.0; 67.6 18.7 25 7 8.65 19.5;
    35.0 1.2 37 53 42.34 18.0; 44.7 46.6 16 29 50.43 18.2; 42.8 27.7 22 29 58.33 19.3
"""
"""Fertility, agriculture, examination, education, Catholic and infant mortality in 47 Swiss provinces, about 1888,
after the data set `swiss` of R (Mosteller & Tukey 1977, Data Analysis and Regression, 549). Written without it at
hand: what is tested does not depend on the digits being those of the source."""


def test_lmg_of_real_correlated_data_is_the_mean_over_all_orderings():
    """LMG by its definition: the R squared that a predictor adds, averaged over all 120 orderings (Groemping 2006)."""
    table = np.array([[float(cell) for cell in row.split()] for row in SWISS.split(";")])
    assert table.shape == (47, 6)
    x, y = table[:, 1:], table[:, 0]
    every = (chosen for size in range(6) for chosen in itertools.combinations(range(5), size))
    fits = {chosen: plain_r_squared(x[:, list(chosen)], y) for chosen in every}
    gains = np.zeros(5)
    for order in itertools.permutations(range(5)):
        for place, index in enumerate(order):
            gains[index] += fits[tuple(sorted(order[: place + 1]))] - fits[tuple(sorted(order[:place]))]
    shares = shapley(r_squared(moments(x, y)))[0]
    assert shares == pytest.approx(gains / math.factorial(5), abs=1e-8)
    assert shares.sum() == pytest.approx(fits[0, 1, 2, 3, 4], abs=1e-8)
    assert shares.min() > 0.05, "correlated predictors that all matter: nothing here is zero"


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


def test_a_few_wild_rows_do_not_turn_the_fit():
    """Five of forty rows are far off, all where the second predictor is large: they count for nothing."""
    rng = np.random.default_rng(3)
    x = rng.random((40, 2))
    y = 2 * x[:, 0] + 0.05 * rng.standard_normal(40)
    wild = np.argsort(x[:, 1])[-5:]
    y[wild] += 3
    weights = robust_weights(x, y)
    assert (weights[wild] == 0).all()
    assert np.median(np.delete(weights, wild)) > 0.8
    slope = non_negative(moments(x, y, weights[np.newaxis]))[0] / x.std(axis=0)
    assert slope == pytest.approx([2, 0], abs=0.1)
    assert non_negative(moments(x, y))[0, 1] / x[:, 1].std() > 0.5, "without weights they turn it"


def test_of_rows_without_error_all_count():
    x = np.random.default_rng(4).random((20, 2))
    y = x @ [1.0, 2.0]
    assert (robust_weights(x, y) == 1).all()
    assert (robust_weights(x, np.ones(20)) == 1).all()
    y[3] += 9
    weights = robust_weights(x, y)
    assert weights.min() >= 0
    assert np.delete(weights, 3).min() > 0.9
