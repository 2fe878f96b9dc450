"""The common result of hosts: published digits, degenerate cases, and how often the interval is wrong."""

import math

import numpy as np
import pytest

import hosts as bench
from becalm.stats.random_effects import combine

# The BCG vaccine trials (Colditz 1994): log relative risks and their variances, dat.bcg of R's metafor.
BCG = np.array(
    [-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209, 0.0120, -0.4694, -1.3713, -0.3394, 0.4459, -0.0173]
)
BCG_VARIANCE = np.array(
    [0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230, 0.0040, 0.0564, 0.0730, 0.0124, 0.5325, 0.0714]
)


def test_the_trials_of_the_vaccine_as_metafor_has_them():
    combined = combine(BCG, np.sqrt(BCG_VARIANCE))
    # metafor: rma(yi, vi, method="PM", test="knha"): tau^2 0.3181, estimate -0.7150, Q = 152.23 on 12 degrees.
    assert combined.between**2 == pytest.approx(0.318, abs=0.002)
    assert combined.estimate == pytest.approx(-0.715, abs=0.002)
    assert combined.standard_error == pytest.approx(0.1808, abs=0.004)
    assert combined.q_p < 1e-20


def test_hosts_that_agree_are_not_believed_more_than_their_own_errors():
    combined = combine([0.01, 0.01, 0.01], [0.002, 0.002, 0.002])
    assert combined.between == 0.0
    assert combined.estimate == pytest.approx(0.01)
    assert combined.standard_error == pytest.approx(0.002 / math.sqrt(3))
    # Student's factor for two degrees of freedom.
    assert combined.high - combined.estimate == pytest.approx(4.302653 * 0.002 / math.sqrt(3), rel=1e-5)


def test_hosts_known_exactly_differ_as_a_plain_sample_does():
    y = [0.01, 0.03, -0.02, 0.05]
    combined = combine(y, [0.0] * 4)
    assert combined.estimate == pytest.approx(np.mean(y))
    assert combined.between == pytest.approx(np.std(y, ddof=1))
    assert combined.standard_error == pytest.approx(np.std(y, ddof=1) / 2)
    assert combined.weights == pytest.approx([0.25] * 4)


def test_one_host_says_nothing_of_others():
    combined = combine([0.02], [0.001])
    assert (combined.estimate, combined.low, combined.high) == (0.02, -math.inf, math.inf)


def test_a_badly_measured_host_counts_less():
    combined = combine([0.0, 0.0, 0.3], [0.001, 0.001, 0.3])
    assert combined.weights[2] < 0.01
    assert combined.estimate < 0.001


def test_equal_and_exact():
    combined = combine([0.5, 0.5], [0.0, 0.0])
    assert combined.estimate == 0.5
    assert combined.high - combined.low < 1e-6


@pytest.mark.parametrize(("y", "s"), [([1.0], [1.0, 2.0]), ([1.0, 2.0], [1.0, -1.0]), ([], []), ([math.nan], [1.0])])
def test_invalid_values_are_refused(y, s):
    with pytest.raises(ValueError, match=r"\w"):
        combine(y, s)


@pytest.mark.parametrize("k", [2, 3, 5, 20])
@pytest.mark.parametrize("between", [0.0, 1.0, 3.0])
def test_the_interval_is_wrong_at_most_at_the_stated_rate(k, between):
    shares = bench.rates(k, between, tails=False, studies=400, seed=5)
    # 400 studies: a rate of 5 % is seen within 2.4 to 8.2 % in 99 of 100.
    assert shares["ours"] <= 0.082
    assert shares["next"] <= 0.09


def test_the_simulation_is_hard_enough_for_the_better_known_formulas():
    shares = bench.rates(3, 3.0, tails=False, studies=400, seed=5)
    assert shares["laird"] > 0.12
    assert shares["fixed"] > 0.4
