"""Diagnoses of a series: each finds what is there, and seldom what is not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.signal import lfilter
from tests.rates import at_most
from tests.samples import samples

from becalm.stats import time_series
from becalm.stats.bimodality import excess_mass, tail
from becalm.stats.normal_scores import Memory, memory, midranks

TESTS = {
    "warmup": time_series.warmup,
    "drift": time_series.drift,
    "period": time_series.period,
    "bimodal": time_series.bimodal,
    "outliers": time_series.outliers,
}


def noise(seed: int, n: int, phi: float = 0.0) -> np.ndarray:
    white = np.random.default_rng(seed).standard_normal(n + 500)
    return lfilter([math.sqrt(1 - phi * phi)], [1, -phi], white)[500:]


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("phi", [0.0, 0.5, 0.93])
def test_false_findings_are_rare(name: str, phi: float) -> None:
    seeds = samples(90, 1000)
    count = sum(TESTS[name](100 + noise(seed, 300, phi)).detected for seed in range(seeds))
    # Measured rates (docs/explanation/statistics.md): 1 % for white noise, up to 4 % for an autoregression of 0.93.
    rate = 0.01 if phi == 0.0 else 0.04
    assert count <= at_most(seeds, rate)


def test_white_noise_is_told_from_correlated_noise() -> None:
    assert sum(time_series.autocorrelation(noise(seed, 200)).detected for seed in range(100)) <= 6
    autocorrelation = time_series.autocorrelation(noise(1, 2000, 0.93), lags=5)
    assert autocorrelation.detected
    assert autocorrelation.lags == (1, 2, 3, 4, 5)
    assert autocorrelation.values == pytest.approx([0.93**k for k in range(1, 6)], abs=0.12)


def test_a_warm_up_is_found_with_its_length() -> None:
    x = 100 + noise(1, 200) + np.where(np.arange(200) < 12, 8.0, 0.0)
    diagnosis = time_series.warmup(x)
    assert diagnosis.detected
    assert diagnosis.drop in (12, 13)
    assert diagnosis.excess == pytest.approx(0.075, abs=0.01)
    assert not time_series.warmup(x[12:]).detected
    assert not time_series.warmup(x[::-1]).detected, "getting slower at the end is no warm-up"


def test_one_slow_first_run_is_a_warm_up() -> None:
    x = 100 + noise(2, 60)
    x[0] += 50
    assert time_series.warmup(x).drop == 1
    y = 100 + noise(2, 60)
    y[30] += 50
    assert not time_series.warmup(y).detected


def test_a_warm_up_to_a_constant_is_found_and_one_of_nothing_is_not() -> None:
    warm = np.repeat([12.0, 10.0], [6, 54])
    diagnosis = time_series.warmup(warm)
    assert (diagnosis.detected, diagnosis.drop) == (True, 6)
    assert diagnosis.excess == pytest.approx(0.2)
    # Five of the first eight are slower, so the mean is; their median is not.
    tied = np.repeat([10.0, 11.0, 10.0, 11.0, 10.0], [2, 2, 2, 2, 92])
    assert not time_series.warmup(tied).detected


def test_a_drift_is_found_with_its_size_and_sign() -> None:
    up = time_series.drift(100 + noise(1, 400) + np.linspace(0, 5, 400))
    down = time_series.drift(100 + noise(1, 400) - np.linspace(0, 5, 400))
    assert up.detected
    assert down.detected
    assert up.change == pytest.approx(0.05, abs=0.01)
    assert down.change == pytest.approx(-0.05, abs=0.01)


@pytest.mark.parametrize("rhythm", [2.5, 4.0, 7.3, 20.0])
@pytest.mark.parametrize("phi", [0.0, 0.9])
def test_a_period_is_found_over_red_noise_too(rhythm: float, phi: float) -> None:
    diagnosis = time_series.period(100 + noise(1, 400, phi) + 1.5 * np.sin(2 * np.pi * np.arange(400) / rhythm))
    assert diagnosis.detected
    assert diagnosis.period == pytest.approx(rhythm, rel=0.06)
    assert 0.1 < diagnosis.share < 1.0


def test_two_humps_are_found_with_their_shares() -> None:
    rng = np.random.default_rng(1)
    high = rng.random(500) < 0.3
    diagnosis = time_series.bimodal(100 + noise(1, 500) + 8.0 * high)
    assert diagnosis.detected
    assert diagnosis.low == pytest.approx(100, abs=0.3)
    assert diagnosis.high == pytest.approx(108, abs=0.3)
    assert diagnosis.low_share == pytest.approx(1 - high.mean(), abs=0.02)


def test_excess_mass_of_small_samples_is_that_of_all_pairs_of_intervals() -> None:
    def slow(x: list[float]) -> float:
        n = len(x)
        single = [((j - i + 1) / n, x[j] - x[i], i, j) for i in range(n) for j in range(i, n)]
        double = [(a[0] + b[0], a[1] + b[1]) for a, b in itertools.product(single, single) if a[3] < b[2]]
        every = np.array([(m, w) for m, w, _, _ in single])
        both = np.array(double + [(m, w) for m, w, _, _ in single])
        slopes = {(p[0] - q[0]) / (p[1] - q[1]) for p in every for q in every if p[1] > q[1] and p[0] > q[0]}
        return max((both[:, 0] - s * both[:, 1]).max() - (every[:, 0] - s * every[:, 1]).max() for s in slopes)

    for seed in range(8):
        x = sorted(np.random.default_rng(seed).random(9).tolist())
        assert excess_mass(np.array(x))[0] == pytest.approx(slow(x), abs=1e-12)


def test_excess_mass_tail_follows_the_published_dip() -> None:
    # Hartigan & Hartigan (1985), table 1: the dip of 50 and 200 uniform values exceeds these with 5 and 1 %.
    assert tail(2 * 0.0702, 50) == pytest.approx(0.05, abs=0.01)
    assert tail(2 * 0.0370, 200) == pytest.approx(0.05, abs=0.01)
    assert tail(2 * 0.0428, 200) == pytest.approx(0.01, abs=0.004)
    assert tail(0.5, 1000) < 1e-12
    assert tail(0.0, 100) == 1.0


def test_outliers_are_found_and_a_drift_makes_none() -> None:
    x = 100 + noise(3, 300) + np.linspace(0, 60, 300)
    x[[50, 200]] += 15.0
    diagnosis = time_series.outliers(x)
    assert diagnosis.indices == (50, 200)
    assert diagnosis.detected
    assert not time_series.outliers(100 + noise(3, 300) + 8.0 * (noise(4, 300) > 0)).detected, (
        "a second mode is no outlier"
    )


def test_memory_knows_white_noise_autoregression_and_their_sum() -> None:
    assert memory(noise(1, 2000)).time == pytest.approx(1.0, abs=0.3)
    assert memory(noise(1, 5000, 0.93)).time == pytest.approx(27.6, rel=0.35)
    both = memory(noise(1, 5000, 0.95) + noise(2, 5000))
    assert both.share == pytest.approx(0.5, abs=0.1)
    assert both.decay == pytest.approx(0.95, abs=0.03)
    k = np.array([1.0, 2.0, 3.0])
    assert Memory(0.5, 0.8).mean_of(k) == pytest.approx([1.0, (1 + 0.4) / 2, (3 + 2 * (2 * 0.4 + 0.32)) / 9])


def test_ranks_share_ties() -> None:
    assert midranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]


@pytest.mark.parametrize("test", [*TESTS.values(), time_series.autocorrelation])
@pytest.mark.parametrize("values", [[5.0], [5.0] * 100, [1.0, 2.0] * 5])
def test_short_and_constant_series_have_nothing_to_find(test, values: list[float]) -> None:
    assert not test(values).detected


@pytest.mark.parametrize("test", [*TESTS.values(), time_series.autocorrelation])
def test_bad_series_are_refused(test) -> None:
    with pytest.raises(ValueError, match="must be finite numbers"):
        test([1.0, math.nan])
    with pytest.raises(ValueError, match="at least 1"):
        test([])


def test_very_many_runs_are_fine() -> None:
    x = 100 + noise(1, samples(100_000, 1_000_000))
    assert not time_series.bimodal(x).detected
    assert len(time_series.outliers(x).indices) < 5
