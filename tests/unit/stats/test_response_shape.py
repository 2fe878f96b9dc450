"""Shapes that were put in are found; slopes and correlations are scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from becalm.stats.response_shape import FASTER, FROM, LINEAR, NONE, SHIFT, shape, spearman, theil_sen


def noise(seed, n=40, size=0.02):
    return size * np.random.default_rng(seed).normal(size=n)


X = np.linspace(0, 4, 40)
CASES = {
    NONE: np.ones(40),
    LINEAR: 1 + 0.5 * X,
    FROM: 1 + 0.5 * np.maximum(0, X - 1.5),
    FASTER: 1 + 0.2 * X + 0.8 * np.maximum(0, X - 2),
}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("seed", range(4))
def test_a_known_shape_is_found(kind, seed):
    fitted_shape = shape(X, CASES[kind] + noise(seed))
    assert fitted_shape.kind == kind
    assert fitted_shape.at(X) == pytest.approx(CASES[kind], abs=0.05)
    if kind in (FROM, FASTER):
        true = 1.5 if kind == FROM else 2.0
        # Places are tried at steps of about 0.02.
        assert fitted_shape.knee_low - 0.02 <= true <= fitted_shape.knee_high + 0.02
        assert fitted_shape.knee_low <= fitted_shape.knee <= fitted_shape.knee_high


def test_a_parallel_shift():
    x = np.concatenate([np.zeros(20), np.random.default_rng(5).uniform(5, 40, 20)])
    fitted_shape = shape(x, 1 + 0.3 * (x > 1) + noise(2), floor=0.2)
    assert (fitted_shape.kind, fitted_shape.level) == (SHIFT, pytest.approx(0.3, abs=0.03))


def test_noise_is_seldom_given_a_shape():
    named = sum(shape(X, 1 + noise(seed)).kind != NONE for seed in range(200))
    assert named <= 16


@pytest.mark.parametrize("seed", range(5))
def test_slope_and_rank_correlation_are_scipys(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 8, 30).astype(float)
    y = 0.3 * x + rng.standard_t(2, 30)
    slope, low, high = theil_sen(x, y)
    expected = stats.theilslopes(y, x)
    assert slope == pytest.approx(expected.slope)
    # scipy rounds the ranks of the ends to the nearest, which may be one pair further in.
    pairs = np.sort([(y[j] - y[i]) / (x[j] - x[i]) for i in range(30) for j in range(i) if x[i] != x[j]])
    assert abs(np.searchsorted(pairs, low) - np.searchsorted(pairs, expected.low_slope)) <= 1
    assert abs(np.searchsorted(pairs, high) - np.searchsorted(pairs, expected.high_slope)) <= 1
    rho = stats.spearmanr(x, y)
    assert spearman(x, y) == pytest.approx((rho.statistic, rho.pvalue))


def test_constant_and_short_series_have_no_shape():
    assert shape(np.ones(5), np.arange(5)).kind == NONE
    assert theil_sen(np.ones(5), np.arange(5.0)) == (0.0, -np.inf, np.inf)
    assert spearman(np.arange(4.0), np.arange(4.0)) == (1.0, 0.0)
    with pytest.raises(ValueError, match="three pairs"):
        shape([1, 2], [1, 2])
