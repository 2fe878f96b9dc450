"""Sessions as the unit: against Student's test on their means, by simulation, and where nothing can be said."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind
from tests.rates import at_most
from tests.samples import samples

from becalm.stats.sessions import over_sessions


def test_equal_runs_in_each_session_are_students_t_of_the_sessions():
    old, new = [0.1, 0.3, -0.2], [0.9, 0.6]
    estimate = over_sessions([[x] * 4 for x in old], [[x] * 4 for x in new])
    expected = ttest_ind(new, old)
    assert estimate.p_value == pytest.approx(expected.pvalue)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(expected.confidence_interval()))
    assert estimate.df == 3


def test_one_session_on_a_side_is_the_prediction_of_a_further_one():
    # mean + t(0.975, 3) s sqrt(1 + 1/4): Hahn & Meeker, Statistical Intervals (1991), section 4.7.
    old = [1.0, 1.2, 0.9, 1.1]
    estimate = over_sessions([[x] * 3 for x in old], [[1.6] * 3])
    half = 3.182446 * np.std(old, ddof=1) * math.sqrt(1.25)
    assert estimate.high - estimate.low == pytest.approx(2 * half, rel=1e-6)


def test_sessions_that_agree_by_chance_are_known_no_better_than_their_runs():
    rng = np.random.default_rng(3)
    noise = [rng.standard_normal(20) for _ in range(3)]
    sessions = [session - session.mean() for session in noise]
    estimate = over_sessions(sessions[:2], sessions[2:])
    assert estimate.standard_error > 0.15


def test_equal_programs_are_called_different_at_the_stated_rate():
    rng = np.random.default_rng(1)
    missed, trials = 0, samples(150, 2000)
    for _ in range(trials):
        sessions = [0.02 * rng.standard_normal() + 0.01 * rng.standard_normal(10) for _ in range(6)]
        difference = over_sessions(sessions[:3], sessions[3:])
        missed += not difference.low <= 0 <= difference.high
    assert missed <= at_most(trials, 0.05)


def test_two_sessions_in_all_tell_nothing_of_the_shift():
    with pytest.raises(ValueError, match="one side needs at least two"):
        over_sessions([[1.0, 2.0]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="one side needs at least two"):
        over_sessions([[1.0], [2.0]], [])
