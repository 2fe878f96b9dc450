"""Evidence of a step: rarely large where there is none, bounded by what drift explains, and its size."""

import math

import numpy as np
import pytest
from tests.samples import samples

from becalm.stats.step_evidence import ANY_DRIFT, LITTLE_DRIFT, drift_likelihood, log_evidence, size_of_step


def logs(values, before, drift=ANY_DRIFT, extra=None):
    values = np.atleast_2d(values)
    count = len(values)
    more = None if extra is None else np.full(count, extra)
    return log_evidence(values, before, np.ones(count), np.full(count, 10.0), drift, more)


@pytest.mark.parametrize("drift", [ANY_DRIFT, LITTLE_DRIFT])
def test_without_a_step_evidence_exceeds_twenty_in_less_than_one_of_twenty(drift):
    rng = np.random.default_rng(1)
    draws = samples(2000, 50_000)
    ratios = np.array([ratio for ratio, _ in drift])[rng.choice(len(drift), draws, p=[prior for _, prior in drift])]
    walks = np.cumsum(rng.standard_normal((draws, 22)), axis=1) * ratios[:, None]
    values = (rng.standard_normal((draws, 22)) + walks) * np.sqrt(2 / (2 + ratios**2))[:, None]
    values *= np.sqrt(10 / rng.chisquare(10, draws))[:, None]
    assert (logs(values, 12, drift) > math.log(20)).mean() < 0.05


def test_a_step_between_flat_levels_is_evident_and_a_trend_is_none():
    rng = np.random.default_rng(2)
    flat = rng.standard_normal(22)
    flat[12:] += 12.0
    assert logs(flat, 12).item() > 10
    assert logs(rng.standard_normal(22) + np.arange(22), 12).item() < 1
    assert logs(rng.standard_normal(22), 12).item() < 1


def test_where_little_drift_is_possible_smaller_steps_are_evident():
    values = np.random.default_rng(3).standard_normal(32)
    values[12:] += 4.0
    assert logs(values, 12, LITTLE_DRIFT).item() > logs(values, 12).item() + 3


def test_variance_that_is_none_of_noise_takes_evidence_away_and_never_adds_any():
    rng = np.random.default_rng(4)
    values = rng.standard_normal((20, 15))
    values[:, 12:] += 8.0
    known = logs(values, 12)
    assert (logs(values, 12, extra=0.01) <= known).all()
    assert (logs(values, 12, extra=16.0) < 3).all()


def test_evidence_has_no_unit():
    values = np.random.default_rng(5).standard_normal((1, 20))
    values[:, 12:] += 5
    scaled = log_evidence(values * 1e-3, 12, np.array([1e-3]), np.array([10.0]), ANY_DRIFT)
    assert scaled == pytest.approx(logs(values, 12))


def test_the_size_of_a_step_is_that_of_means_without_drift_and_less_sure_with_it():
    rng = np.random.default_rng(6)
    values = rng.standard_normal(40)
    values[20:] += 9.0
    size, error, _ = size_of_step(values - values.mean(), 20, 1.0, 2.0, ((0.0, 1.0),))
    assert size == pytest.approx(values[20:].mean() - values[:20].mean())
    assert error == pytest.approx(math.sqrt(2 / 20), rel=0.3)
    walk = np.cumsum(rng.standard_normal(40))
    assert size_of_step(walk - walk.mean(), 20, 1.0, 2.0, ANY_DRIFT)[1] > 0.7


def test_values_say_how_much_they_drift_and_a_step_is_no_drift():
    rng = np.random.default_rng(7)
    white = rng.standard_normal((3, 40))
    white[1, 20:] += 10.0
    white[2] = np.cumsum(white[2])
    likelihood = drift_likelihood(white, np.ones(3), np.full(3, 2.0), ANY_DRIFT)
    assert likelihood.max(axis=1) == pytest.approx(0.0)
    assert (likelihood[:2].argmax(axis=1) <= 2).all()
    assert likelihood[2].argmax() >= 3
