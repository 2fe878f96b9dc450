"""The rank correlation of two series, and its interval."""

import math

import numpy as np
import pytest
from scipy.signal import lfilter
from tests.rates import at_most
from tests.samples import samples

from becalm.stats.rank_correlation import FEWEST, rank_correlation


def drawn(correlation: float, count: int, seed: int, memory: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return two normal series with a correlation at each moment, each with a memory."""
    rng = np.random.default_rng(seed)
    shared, *own = rng.standard_normal((3, count))
    series = [math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * noise for noise in own]
    return tuple(lfilter([1.0], [1.0, -memory], values) for values in series)  # type: ignore[return-value]


def test_an_order_and_its_reverse() -> None:
    values = np.arange(20.0)
    same, turned = rank_correlation(values, np.exp(values)), rank_correlation(values, -values)
    assert same is not None
    assert turned is not None
    assert (same.value, turned.value) == (pytest.approx(1.0), pytest.approx(-1.0))


def test_equal_values_share_their_rank() -> None:
    result = rank_correlation([1, 2, 2, 3, 4, 5, 6, 7], [1, 2, 2, 3, 4, 5, 6, 7])
    assert result is not None
    assert result.value == pytest.approx(1.0)


def test_a_single_long_run_decides_nothing() -> None:
    first, second = drawn(0.0, 200, 1)
    before = rank_correlation(first, second)
    first[7] = second[7] = 1e9
    after = rank_correlation(first, second)
    assert before is not None
    assert after is not None
    assert after.value == pytest.approx(before.value, abs=0.02)


@pytest.mark.parametrize(("memory", "correlation"), [(0.0, 0.0), (0.0, 0.7), (0.9, 0.0)])
def test_intervals_hold_the_truth_as_often_as_stated_also_with_a_memory(memory: float, correlation: float) -> None:
    seeds, missed = samples(100, 1000), 0
    # Of normal series Spearman's is this function of Pearson's (Pearson 1907).
    truth = 6 / math.pi * math.asin(correlation / 2)
    for seed in range(seeds):
        result = rank_correlation(*drawn(correlation, 300, seed, memory))
        assert result is not None
        missed += not result.low <= truth <= result.high
    assert missed <= at_most(seeds, 0.07)


@pytest.mark.parametrize("values", [np.arange(FEWEST - 1.0), np.ones(50)])
def test_too_few_or_constant_values_say_nothing(values: np.ndarray) -> None:
    assert rank_correlation(values, np.arange(float(len(values)))) is None


def test_series_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="9 values cannot be paired with 10"):
        rank_correlation(np.arange(9.0), np.arange(10.0))
