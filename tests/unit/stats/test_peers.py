"""Machines and their peers: known cases, and rates by simulation of thousands of machines."""

import math

import numpy as np
import pytest
from scipy import stats as reference
from scipy.stats import false_discovery_control
from tests.rates import at_most
from tests.samples import samples

import survey as bench
from becalm.stats.multiplicity import benjamini_hochberg
from becalm.stats.peers import (
    LEAST_PEERS,
    loop_estimates,
    loop_memory,
    peers,
    robust_scale,
    selected_intervals,
    trimmed_loops,
)


def test_the_robust_scale_is_the_standard_deviation_and_does_not_mind_a_third_of_outliers():
    rng = np.random.default_rng(1)
    for count in (200, 3000):
        values = 2.0 * rng.standard_normal(count)
        assert robust_scale(values) == pytest.approx(2.0, rel=0.12)
        values[: count // 3] = 1e6
        assert robust_scale(values) < 6.0


def test_adjusted_p_values_are_those_of_scipy():
    p = np.random.default_rng(2).random(500) ** 3
    assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p))
    withs = benjamini_hochberg([0.01, math.nan, 0.04])
    assert withs[[0, 2]] == pytest.approx([0.02, 0.04])
    assert math.isnan(withs[1])
    with pytest.raises(ValueError, match="between 0 and 1"):
        benjamini_hochberg([1.5])


def test_one_odd_machine_among_thirty_two():
    rng = np.random.default_rng(5)
    x = 0.002 * rng.standard_normal(32)
    x[13] = 0.03
    outliers = peers(x, np.full(32, 0.001), 6)
    assert outliers.between == pytest.approx(0.002, rel=0.5)
    assert int(np.argmin(outliers.p_value)) == 13
    assert benjamini_hochberg(outliers.p_value)[13] < 0.01
    assert (benjamini_hochberg(outliers.p_value) < 0.05).sum() == 1
    low, high = selected_intervals(outliers, np.full(32, 0.001), np.full(32, 6.0), 1, 32, 0.05)
    assert low[13] < 0.03 - outliers.centre < high[13]


def test_too_few_machines_of_a_kind_say_nothing():
    outliers = peers([0.0] * (LEAST_PEERS - 2) + [5.0], [0.001] * (LEAST_PEERS - 1), 6)
    assert np.isnan(outliers.p_value).all()
    assert math.isnan(outliers.between)


def test_machines_that_are_all_alike():
    outliers = peers([1.0] * 10, [0.0] * 10, 6)
    assert outliers.between == 0.0
    assert (outliers.p_value == 0.5).all()


def test_loops_are_trimmed_and_one_disturbed_loop_does_not_decide():
    rng = np.random.default_rng(4)
    times = 0.01 * rng.standard_normal((1, 10, 20))
    plain = loop_estimates(times)
    times[0, 3] += 1.0 + rng.standard_normal(20)
    spoilt = loop_estimates(times)
    assert abs(plain[0] - spoilt[0]) < 0.004
    assert abs(plain[2] - spoilt[2]) < 0.2
    assert trimmed_loops([10, 5, 4]).tolist() == [6, 3, 4]


@pytest.mark.parametrize(("x", "v", "loops"), [([1.0], [1.0, 2.0], 5), ([1.0], [-1.0], 5), ([1.0], [1.0], 1)])
def test_invalid_values_are_refused(x, v, loops):
    with pytest.raises(ValueError, match="standard errors"):
        peers(x, v, loops)


@pytest.fixture
def large(monkeypatch):
    """Make the surveys as large as the profile says."""
    monkeypatch.setattr(bench, "MACHINES", samples(2_000, 10_000))


def surveys(count, **options):
    tallies = [bench.survey(np.random.default_rng([7, n]), "normal", **options) for n in range(count)]
    return [[tally[index] for tally in tallies] for index in (0, 1)]


@pytest.mark.parametrize("natural", [0.0, bench.NATURAL])
@pytest.mark.usefixtures("large")
def test_usual_machines_of_a_large_survey_are_not_named(natural):
    for question in surveys(6, natural=natural, odd=False):
        # At 5 % three surveys of six with a wrong name come once in 500 times.
        assert sum(tally.named > 0 for tally in question) < 3
        assert sum(tally.named for tally in question) < 10


@pytest.mark.usefixtures("large")
def test_the_odd_ones_of_a_large_survey_are_named_and_few_others():
    slower, noisier = surveys(3, natural=bench.NATURAL, odd=True)
    assert sum(tally.false_share for tally in slower) / 3 < 0.1
    assert sum(tally.false_share for tally in noisier) / 3 < 0.1
    assert sum(tally.right for tally in slower) > 0.85 * sum(tally.true for tally in slower)
    assert sum(tally.right for tally in noisier) > 0.5 * sum(tally.true for tally in noisier)


@pytest.mark.parametrize("count", [6, 10, 30])
def test_small_groups_name_at_most_at_the_stated_rate(count):
    rng = np.random.default_rng([11, count])
    wrong, trials = 0, samples(150, 2000)
    for _ in range(trials):
        errors = np.full(count, 0.001) * np.sqrt(rng.chisquare(5, count) / 5)
        outliers = peers(0.0015 * rng.standard_normal(count), errors, 6)
        wrong += (benjamini_hochberg(outliers.p_value) <= 0.05).any()
    assert wrong <= at_most(trials, 0.05)


def test_the_correlation_of_loops_is_estimated_from_all_machines():
    rng = np.random.default_rng(3)
    levels = rng.standard_normal((200, 10))
    white = [level[:, None] + 0.01 * rng.standard_normal((10, 5)) for level in levels]
    assert loop_memory(white) < 0.06
    related = levels.copy()
    for at in range(1, 10):
        related[:, at] = 0.5 * related[:, at - 1] + math.sqrt(0.75) * levels[:, at]
    assert loop_memory([level[:, None] + 0.01 * rng.standard_normal((10, 5)) for level in related]) == pytest.approx(
        0.5, abs=0.08
    )
    assert loop_memory([np.ones((10, 5))]) == 0.0
    assert loop_memory([np.arange(8.0).reshape(4, 2)]) == 0.0, "four loops tell nothing"


def test_where_machines_are_unlike_one_that_is_known_worse_borrows_nothing_from_its_peers():
    values, errors = np.zeros(50), np.full(50, 0.01)
    values[:49] = 0.001 * np.random.default_rng(1).standard_normal(49)
    values[49] = 0.06
    known = peers(values, errors, 6).p_value[49]
    errors[49] = 0.02
    worse = peers(values, errors, 6, unlike=True).p_value[49]
    assert peers(values, errors, 6).p_value[49] < worse / 2, "among machines that are alike it is chance"
    # Three standard errors, judged by about five degrees of freedom and not by ten.
    assert known < 0.001
    assert worse == pytest.approx(reference.t.sf(3, 5), rel=0.25)
