"""The number of independent runs that a series is worth: known results, and the two ways to its correlations."""

import numpy as np
import pytest
from tests.samples import samples

from becalm.stats import effective_sample_size
from becalm.stats.effective_sample_size import LAGS, correlation_time, correlations, effective_size


def autoregressive(count, memory, seed=1):
    """Return x[t] = memory x[t-1] + noise."""
    noise = np.random.default_rng(seed).normal(size=count)
    result = np.empty(count)
    result[0] = noise[0] / np.sqrt(1 - memory**2)
    for index in range(1, count):
        result[index] = memory * result[index - 1] + noise[index]
    return result


def test_a_constant_series_has_no_correlation():
    assert list(correlations(np.full(5, 3.0))) == [1, 0, 0, 0, 0]
    assert correlation_time([7.0] * 10) == 1.0


def test_autocorrelations_as_summed_by_hand():
    values = np.array([1.0, 2.0, 4.0, 3.0])
    centred = values - 2.5
    expected = [sum(centred[: 4 - lag] * centred[lag:]) / sum(centred**2) for lag in range(4)]
    assert correlations(values) == pytest.approx(expected)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_the_time_of_an_autoregressive_series_is_the_known_one(memory):
    """(1 + a) / (1 - a), Priestley 1981, 5.3.2."""
    values = autoregressive(samples(50_000, 200_000), memory)
    assert correlation_time(values) == pytest.approx((1 + memory) / (1 - memory), rel=0.1)


@pytest.mark.parametrize("memory", [-0.5, 0.0, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("count", [4, 5, LAGS - 1, LAGS, LAGS + 1, LAGS + 2, 3_000])
def test_a_few_lags_by_themselves_tell_the_same_as_all_of_them(memory, count, monkeypatch):
    values = autoregressive(count, memory, seed=count)
    time = correlation_time(values)
    # Never enough of them: all lags at once.
    monkeypatch.setattr(effective_sample_size, "_pair_sums", transformed)
    assert time == pytest.approx(correlation_time(values), rel=1e-9)


def transformed(values):
    return correlations(values)[: len(values) - len(values) % 2].reshape(-1, 2).sum(axis=1)


def test_a_series_that_alternates_is_worth_its_length():
    assert effective_size([1.0, -1.0] * 50) == 100.0
