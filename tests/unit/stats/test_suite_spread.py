"""Sessions of a suite: tails and variances that are known are learned, and intervals hold all together."""

import math

import numpy as np
import pytest
from scipy.stats import t as student
from tests.rates import at_most
from tests.samples import samples

from becalm.stats.sessions import over_sessions
from becalm.stats.suite_spread import LEAST, Group, student_fit, suite_spread


def suite(seed: int, benchmarks: int = 88, old: int = 3, new: int = 1, freedom: float = 4.0) -> list[Group]:
    rng = np.random.default_rng(seed)
    spread = 0.01 * np.exp(0.5 * rng.standard_normal(benchmarks))
    places = spread[:, None] * rng.standard_t(freedom, (benchmarks, old + new)) / math.sqrt(freedom / (freedom - 2))
    return [(row[:old], row[old:]) for row in places]


@pytest.mark.parametrize("freedom", [2.0, 4.0, 10.0])
def test_students_t_is_fitted_with_its_scale_and_freedom(freedom: float) -> None:
    scale, fitted = student_fit(3 * np.random.default_rng(1).standard_t(freedom, 4000))
    assert scale == pytest.approx(3, rel=0.06)
    assert fitted == pytest.approx(freedom, rel=0.25)


def test_the_fit_has_the_largest_likelihood() -> None:
    values = np.random.default_rng(2).standard_t(3, 300)
    scale, freedom = student_fit(values)
    best = student.logpdf(values, freedom, scale=scale).sum()
    for other in (0.9, 1.1):
        assert student.logpdf(values, freedom, scale=scale * other).sum() < best
    assert student.logpdf(values, 100, scale=values.std()).sum() < best


def test_few_values_are_taken_for_usual_ones() -> None:
    values = np.random.default_rng(3).standard_normal(9)
    assert student_fit(values)[1] == pytest.approx(4, abs=1)
    assert student_fit(np.tile(values, 400))[1] > 10
    assert student_fit(np.tile(values, 400), 1 / 400)[1] == student_fit(values)[1]


def test_few_benchmarks_and_single_sessions_tell_nothing_of_tails() -> None:
    assert suite_spread(suite(1, benchmarks=round(LEAST / 2) - 1)) is None
    assert suite_spread(suite(1, old=1)) is None
    assert suite_spread([]) is None
    assert suite_spread(suite(1, benchmarks=round(LEAST / 2))) is not None


def test_programs_that_never_change_are_peers_with_one_side() -> None:
    still = [(np.concatenate(group),) for group in suite(3, benchmarks=30)]
    spread = suite_spread(still)
    assert spread is not None
    assert spread.benchmarks == 30


def test_a_variance_is_moderated_towards_the_others() -> None:
    groups = suite(4, freedom=30.0)
    spread = suite_spread(groups)
    assert spread is not None
    assert math.sqrt(spread.prior.value) == pytest.approx(0.01, rel=0.3)
    same, wild = (np.array([0.0, 0.0, 0.0]), np.zeros(1)), (np.array([0.0, 0.2, -0.2]), np.zeros(1))
    assert 0 < spread.variance(same)[1] < spread.prior.value
    assert spread.prior.value < spread.variance(wild)[1] < 0.04


def test_all_intervals_of_a_suite_hold_together() -> None:
    # Measured with 200 suites: 6.0 % (docs/explanation/statistics.md).
    claims, halves, trials = 0, [], samples(8, 200)
    for seed in range(trials):
        groups = suite(100 + seed)
        spread = suite_spread(groups)
        estimates = [over_sessions(*(side[:, None] for side in group), 0.05 / 88, spread) for group in groups]
        claims += any(not estimate.low <= 0 <= estimate.high for estimate in estimates)
        halves.append(np.median([(estimate.high - estimate.low) / 2 for estimate in estimates]))
    assert claims <= at_most(trials, 0.06)
    alone = [over_sessions(*(side[:, None] for side in group), 0.05 / 88) for group in suite(100)]
    assert 3 * np.median(halves) < np.median([(value.high - value.low) / 2 for value in alone])
