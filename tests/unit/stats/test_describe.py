"""Descriptions of one program and of two sessions: known values, coverage, degenerate series."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference
from scipy.signal import lfilter
from tests.rates import at_least, at_most
from tests.samples import samples

from becalm.stats import bootstrap
from becalm.stats.describe import describe, median_interval
from becalm.stats.effective_sample_size import correlation_time, correlations, effective_size
from becalm.stats.unpaired import unpaired


def autoregression(seed: int, n: int, phi: float = 0.93) -> np.ndarray:
    white = np.random.default_rng(seed).standard_normal(n + 500)
    return lfilter([math.sqrt(1 - phi * phi)], [1, -phi], white)[500:]


def test_numbers_of_a_known_series() -> None:
    summary = describe([1.0, 2.0, 3.0, 4.0, 10.0, 2.5, 3.5])
    assert (summary.n, summary.minimum, summary.maximum, summary.median) == (7, 1.0, 10.0, 3.0)
    assert summary.mean == pytest.approx(26 / 7)
    assert summary.sd == pytest.approx(np.std([1.0, 2.0, 3.0, 4.0, 10.0, 2.5, 3.5], ddof=1))
    assert summary.robust_cv == pytest.approx(1.482602 * 1.0 / 3.0, rel=1e-5)


def test_autocorrelations_agree_with_their_definition() -> None:
    x = autoregression(1, 57)
    c = x - x.mean()
    direct = [float(c[k:] @ c[: 57 - k]) / float(c @ c) for k in range(57)]
    assert correlations(x) == pytest.approx(direct, abs=1e-12)


@pytest.mark.parametrize(("phi", "tau"), [(0.0, 1.0), (0.5, 3.0), (0.93, 27.57)])
def test_correlation_time_of_autoregressions(phi: float, tau: float) -> None:
    medians = np.median([correlation_time(autoregression(seed, 20_000, phi)) for seed in range(9)])
    assert medians == pytest.approx(tau, rel=0.1)
    assert effective_size(np.ones(50)) == 50


def test_median_ranks_are_the_binomial_ones() -> None:
    # Independent and without correlation by construction: ranks 40 and 61 of 100 (Conover 1999, 3.2).
    for n, low in ((6, 1), (20, 6), (100, 40)):
        assert reference.binom.cdf(low - 1, n, 0.5) <= 0.025 < reference.binom.cdf(low, n, 0.5)
    x = 100 + np.tile([1.0, -1.0], 50) * np.arange(1, 101)
    low, high = median_interval(x, 0.05)
    ordered = np.sort(x)
    assert (low, high) == (ordered[39], ordered[60])
    assert median_interval(x[:5], 0.05) == (-math.inf, math.inf)


def test_intervals_cover_as_stated() -> None:
    seeds = samples(120, 1000)
    hits = {"white": np.zeros(3), "autoregression": np.zeros(3)}
    naive = 0
    for seed in range(seeds):
        for name, x in (
            ("white", 1 + 0.05 * np.random.default_rng(seed).standard_normal(200)),
            ("autoregression", 1 + 0.05 * autoregression(seed, 2000)),
        ):
            summary = describe(x)
            hits[name] += [
                summary.mean_interval[0] <= 1 <= summary.mean_interval[1],
                summary.median_interval[0] <= 1 <= summary.median_interval[1],
                summary.cv_interval[0] <= 0.05 <= summary.cv_interval[1],
            ]
            naive += name == "autoregression" and abs(x.mean() - 1) <= 1.96 * x.std() / math.sqrt(2000)
    assert (hits["white"] >= at_least(seeds, 0.95, 0.01)).all()
    assert (hits["autoregression"] >= at_least(seeds, 0.92, 0.01)).all(), (
        "known to be 1 to 3 % too short (docs/explanation/statistics.md)"
    )
    assert naive / seeds < 0.6, "a formula for independent runs would fail here, or this test proves nothing"


def test_a_spread_that_a_series_cannot_know_has_no_interval() -> None:
    unknown = [describe(1 + 0.05 * autoregression(seed, 60)).cv_interval == (0.0, math.inf) for seed in range(40)]
    assert np.mean(unknown) > 0.9
    white = [describe(1 + 0.05 * np.random.default_rng(seed).standard_normal(60)).cv_interval for seed in range(40)]
    assert np.mean([high < math.inf for _, high in white]) > 0.9


def test_the_interval_of_a_spread_is_wider_with_heavy_tails_and_holds_more_of_them() -> None:
    normal = [100 + np.random.default_rng(seed).standard_normal(200) for seed in range(40)]
    heavy = [np.concatenate([[106.0, 94.0, 107.0, 93.0], value[4:]]) for value in normal]

    def width(series: list[np.ndarray]) -> float:
        ends = [describe(ndarray).cv_interval for ndarray in series]
        return float(np.median([math.log(high / low) for low, high in ends]))

    assert width(heavy) > 1.5 * width(normal)
    # Bonett (2006): with normal times nearly the width of the chi-squared interval.
    ends = np.sqrt(199 / reference.chi2.ppf([0.975, 0.025], 199))
    assert width(normal) == pytest.approx(math.log(ends[1] / ends[0]), rel=0.12)
    tails = [1 + 1e-3 * np.random.default_rng(seed).standard_t(3, size=50) for seed in range(samples(100, 1000))]
    held = [low <= 1e-3 * math.sqrt(3) <= high for low, high in (describe(tail).cv_interval for tail in tails)]
    assert sum(held) >= at_least(len(held), 0.82, 0.01), (
        "84 % with 20 runs, 80 % with 100 and more: so it has no stated level"
    )


def test_runs_for_a_precision() -> None:
    x = 1 + 0.05 * np.random.default_rng(1).standard_normal(4000)
    summary = describe(x)
    expected = (1.959964 * summary.cv / 0.01) ** 2 * summary.n / summary.effective_n
    assert summary.runs_for(0.01) == math.ceil(expected)
    assert describe([1.0]).runs_for(0.01) is None
    assert describe([1.0, 1.0, 1.0]).runs_for(0.01) == 2
    with pytest.raises(ValueError, match="positive"):
        summary.runs_for(0.0)


def test_few_runs_have_infinite_intervals_instead_of_errors() -> None:
    first = describe([5.0])
    assert first.mean_interval == first.median_interval == (-math.inf, math.inf)
    assert first.cv_interval == (0.0, math.inf)
    few = describe([10.87, 10.87, 10.88, 10.97, 10.97])
    assert few.cv_interval == (0.0, math.inf), "its upper end would be some thousand times what was seen"
    assert math.isfinite(few.mean_interval[0])
    same = describe([5.0] * 30)
    assert same.mean_interval == same.median_interval == (5.0, 5.0)
    assert same.cv_interval == (0.0, 0.0)
    with pytest.raises(ValueError, match="at least 1"):
        describe([])
    with pytest.raises(ValueError, match="inf at position 2"):
        describe([1.0, 2.0, math.inf])


def test_two_sessions_are_compared_at_the_stated_rate() -> None:
    wrong = naive = 0
    trials = samples(100, 1000)
    for seed in range(trials):
        result, two = autoregression(2 * seed, 1000), autoregression(2 * seed + 1, 1000)
        estimate = unpaired(result, two + 0.3)
        wrong += not estimate.low <= 0.3 <= estimate.high
        naive += reference.ttest_ind(result, two).pvalue < 0.05
    assert wrong <= at_most(trials, 0.06)
    assert naive / trials > 0.4


def test_two_sessions_of_white_noise_are_welchs_test_but_robust() -> None:
    rng = np.random.default_rng(1)
    white, two = rng.standard_normal(3000), 0.1 + rng.standard_normal(2000)
    estimate = unpaired(white, two)
    assert estimate.standard_error == pytest.approx(math.sqrt(1 / 3000 + 1 / 2000), rel=0.15)
    two[:20] = 1e6
    assert unpaired(white, two).estimate == pytest.approx(estimate.estimate, abs=0.05)
    assert unpaired([1.0], [2.0, 3.0]).high == math.inf
    assert unpaired([1.0, 1.0], [2.0, 2.0]).low == 1.0


def mean(samples: np.ndarray) -> np.ndarray:
    return samples.mean(axis=1)


@pytest.mark.parametrize(("own", "name"), [(bootstrap.percentile, "percentile"), (bootstrap.bca, "BCa")])
def test_bootstrap_agrees_with_scipy(own, name: str) -> None:
    x = np.random.default_rng(1).exponential(size=60)
    theirs = reference.bootstrap(
        (x,), np.mean, n_resamples=40_000, method=name, rng=np.random.default_rng(2), vectorized=True
    ).confidence_interval
    mine = own(x, mean, np.random.default_rng(3), resamples=40_000)
    assert mine == pytest.approx((theirs.low, theirs.high), rel=0.01)
    assert own(x, mean, np.random.default_rng(4)) == own(x, mean, np.random.default_rng(4))


def test_blocks_see_the_correlation_that_single_values_do_not() -> None:
    x = autoregression(1, 3000)
    low, high = bootstrap.block(x, mean, np.random.default_rng(1))
    one_low, one_high = bootstrap.percentile(x, mean, np.random.default_rng(1), resamples=1999)
    assert 2.5 < (high - low) / (one_high - one_low) < math.sqrt(27.6) * 1.3
    with pytest.raises(ValueError, match="block must have"):
        bootstrap.block(x, mean, np.random.default_rng(1), length=0)
