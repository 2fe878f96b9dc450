"""The estimator of compare: known cases, degenerate ones, and its rate of false alarms under all kinds of noise."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from tests.rates import at_most
from tests.samples import samples

import coverage
from becalm.stats.paired import PairedDifferences, PairedEstimate, PairedScore, RepeatedPairs, locate, standard_error


def draw(noise: np.ndarray, difference: float, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    a, b = coverage.positions(rng, len(noise) // 2)
    return noise[a], noise[b] + difference, a, b


def once(arrays: tuple[np.ndarray, ...], alpha: float = 0.05) -> PairedEstimate:
    return RepeatedPairs(alpha).look(*arrays, 1.0)


def test_white_noise_gives_what_the_t_test_gives() -> None:
    rng = np.random.default_rng(1)
    estimate = once(draw(0.02 * rng.standard_normal(20_000), 0.01, rng))
    error = 0.02 * math.sqrt(2 / 10_000)
    assert estimate.estimate == pytest.approx(0.01, abs=4 * error)
    assert estimate.standard_error == pytest.approx(error / math.sqrt(0.95), rel=0.03)
    assert estimate.high - estimate.low == pytest.approx(2 * 1.96 * estimate.standard_error, rel=0.02)
    assert estimate.low < estimate.estimate < estimate.high
    # With n pairs, the statistic of a difference of z errors is smaller by about z^2 / 2n of it.
    assert estimate.detectable == pytest.approx((1.959964 + 0.841621) * estimate.standard_error, rel=2.8**2 / 10_000)
    assert estimate.p_value < 1e-10


def test_brownian_drift_is_subtracted_by_the_neighbours() -> None:
    rng = np.random.default_rng(2)
    arrays = draw(0.001 * np.cumsum(rng.standard_normal(20_000)), 0.0, rng)
    estimate = once(arrays)
    raw = float((arrays[1] - arrays[0]).std()) / math.sqrt(10_000)
    assert estimate.adjusted > 0.95
    # The middle third of three Brownian steps, less a third of all three: variance 2/3.
    assert estimate.standard_error / raw == pytest.approx(math.sqrt(2 / 3) / math.sqrt(0.95), rel=0.03)


def test_a_difference_moves_the_estimate_by_itself_and_changes_nothing_else() -> None:
    """Neighbours of a pair are corrected for the difference between the programs first."""
    for seed in range(5):
        noise = 0.01 * np.cumsum(np.random.default_rng(seed).standard_normal(120))
        none, some = (once(draw(noise, size, np.random.default_rng(seed))) for size in (0.0, 0.3))
        assert none.adjusted > 0.5
        assert some.estimate - none.estimate == pytest.approx(0.3, abs=1e-5)
        for name in ("standard_error", "adjusted", "detectable"):
            assert getattr(some, name) == pytest.approx(getattr(none, name), rel=1e-3)
        assert some.high - some.low == pytest.approx(none.high - none.low, rel=1e-3)


def test_the_standard_error_is_that_of_the_slope_of_the_scores() -> None:
    unbalanced = 0
    for seed in range(8):
        noise = 0.01 * np.cumsum(np.random.default_rng(seed).standard_normal(60))
        pairs = PairedDifferences.of(*draw(noise, 0.1, np.random.default_rng(seed)))
        unbalanced += abs(pairs.label.sum()) > 0.1
        estimate = locate(pairs)
        score = PairedScore(pairs, estimate)
        scores, step = score.scores(estimate), 1e-7 * score.scale
        slope = float((score.scores(estimate - step) - score.scores(estimate + step)).sum()) / (2 * step)
        expected = math.sqrt(float(scores @ scores)) / slope
        assert standard_error(score, estimate) == pytest.approx(expected, rel=1e-4)
    assert unbalanced > 3, "with labels that cancel, their sign would not show"


def test_outliers_are_bounded_also_next_door() -> None:
    rng = np.random.default_rng(3)
    clean = 0.001 * np.cumsum(rng.standard_normal(2000))
    spoilt = clean + 50.0 * (rng.random(2000) < 0.02)
    before, after = once(draw(clean, 0.0, np.random.default_rng(4))), once(draw(spoilt, 0.0, np.random.default_rng(4)))
    assert after.standard_error < 2 * before.standard_error
    assert after.low < 0 < after.high


def test_too_few_pairs_say_nothing() -> None:
    for pairs in range(1, 6):
        rng = np.random.default_rng(pairs)
        estimate = once(draw(rng.standard_normal(2 * pairs), 100.0, rng))
        assert (estimate.low, estimate.high) == (-math.inf, math.inf), "2^(1-n) is above 5 % for fewer than six pairs"
    assert once(draw(np.zeros(2), 0.5, np.random.default_rng(1))).standard_error == math.inf


@pytest.mark.parametrize("difference", [0.0, 0.25])
def test_pairs_that_are_all_alike(difference: float) -> None:
    estimate = once(draw(np.ones(40), difference, np.random.default_rng(1)))
    assert estimate.estimate == estimate.low == estimate.high == difference
    assert estimate.standard_error == 0.0
    assert estimate.p_value == (1.0 if difference == 0.0 else pytest.approx(7.7e-6, rel=0.01))


def test_drift_without_noise_and_ties_have_an_answer() -> None:
    line = once(draw(np.arange(80) * 1e-3, 0.01, np.random.default_rng(1)))
    assert line.estimate == pytest.approx(0.01, abs=1e-3)
    assert line.low <= 0.01 + 1e-9
    rng = np.random.default_rng(2)
    ties = once(draw(np.round(rng.standard_normal(400)), 1.0, rng))
    assert ties.low < 1.0 < ties.high


def test_looks_replayed_give_the_same_numbers_and_earlier_looks_cost() -> None:
    rng = np.random.default_rng(5)
    arrays = draw(rng.standard_normal(600), 0.0, rng)

    def replay() -> list[PairedEstimate]:
        pairs = RepeatedPairs()
        return [pairs.look(*(array[:n] for array in arrays), n / 300) for n in (40, 100, 200, 300)]

    assert replay() == replay()
    assert replay()[-1].critical > once(arrays).critical


def test_nothing_is_called_before_alpha_is_spent() -> None:
    rng = np.random.default_rng(6)
    assert once(draw(rng.standard_normal(100), 0.0, rng)).critical < 2
    result = RepeatedPairs().look(*draw(rng.standard_normal(100), 9.0, rng), 0.0)
    assert (result.low, result.high, result.critical) == (-math.inf, math.inf, math.inf)


def test_bad_input_is_refused_with_a_sentence() -> None:
    good = [1.0, 2.0, 3.0]
    with pytest.raises(
        ValueError, match="The candidate's times must be finite numbers, but there is nan at position 1"
    ):
        RepeatedPairs().look(good, [1.0, math.nan, 2.0], good, good, 0.5)
    with pytest.raises(ValueError, match="pairs need the same number"):
        RepeatedPairs().look(good, [1.0], good, good, 0.5)
    with pytest.raises(ValueError, match="at least 1"):
        RepeatedPairs().look([], [], [], [], 0.5)
    pairs = RepeatedPairs()
    pairs.look(good, good, [0, 2, 4], [1, 3, 5], 0.5)
    with pytest.raises(ValueError, match="all pairs measured so far"):
        pairs.look([1.0], [1.0], [0], [1], 0.6)


def test_of_few_coarse_values_whose_score_jumps_the_interval_ends_at_the_estimate() -> None:
    reference, candidate = np.array([-3.0, 1.0, 1.0, -3.0]), np.array([-8.0, -3.0, -3.0, -8.0])
    later = np.array([0, 0, 1, 0])
    positions = 2 * np.arange(4) + later, 2 * np.arange(4) + 1 - later
    estimate = RepeatedPairs(0.5).look(reference, candidate, *positions, 1.0)
    assert estimate.high == estimate.estimate == pytest.approx(-5.0)
    assert estimate.low == pytest.approx(-5.0)


SEEDS = samples(12, 200)
"""The number of comparisons of each noise."""


@functools.cache
def rates(name: str) -> coverage.Rates:
    return coverage.paired_rates(name, pairs=30, seeds=SEEDS)


@pytest.mark.parametrize("name", coverage.NOISES)
def test_false_alarms_stay_at_the_stated_rate(name: str) -> None:
    assert round(SEEDS * rates(name).called) <= at_most(SEEDS, 0.05)
    assert round(SEEDS * rates(name).missed) <= at_most(SEEDS, 0.05)


def test_false_alarms_of_all_noises_stay_at_the_stated_rate() -> None:
    """The naive tests must exceed the same bound, or this proves nothing."""
    trials = SEEDS * len(coverage.NOISES)
    most = at_most(trials, 0.05, 0.01)
    every = [rates(name) for name in coverage.NOISES]
    assert SEEDS * sum(rate.called for rate in every) <= most
    assert SEEDS * sum(rate.missed for rate in every) <= most
    assert SEEDS * sum(rate.t_each_look for rate in every) > most
    assert SEEDS * sum(rate.signed_rank_each_look for rate in every) > most


@pytest.mark.long
@pytest.mark.parametrize("name", coverage.NOISES)
def test_naive_tests_exceed_the_stated_rate(name: str) -> None:
    assert SEEDS * max(rates(name).t_each_look, rates(name).signed_rank_each_look) > at_most(SEEDS, 0.05)


@pytest.mark.parametrize("pairs", [6, 9, 20])
def test_small_samples_keep_the_rate(pairs: int) -> None:
    wrong, trials = 0, samples(120, 2000)
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        estimate = once(draw(coverage.autoregression(0.93)(rng, 2 * pairs), 0.3, rng))
        wrong += not estimate.low <= 0.3 <= estimate.high
    assert wrong <= at_most(trials, 0.05)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_everything_grows_with_the_unit(size: float) -> None:
    """Also the standard error, of differences that are large in their unit."""
    rng = np.random.default_rng(6)
    a, b, at_a, at_b = draw(0.02 * np.cumsum(rng.standard_normal(200)), 0.01, rng)
    small, large = (once((unit * a, unit * b, at_a, at_b)) for unit in (1.0, size))
    for name in ("estimate", "standard_error", "low", "high"):
        assert getattr(large, name) == pytest.approx(size * getattr(small, name), rel=1e-5)
    assert large.adjusted == pytest.approx(small.adjusted, rel=1e-5)


def test_two_pairs_have_a_standard_error_and_one_has_none() -> None:
    two = once((np.array([1.0, 1.1]), np.array([1.2, 1.35]), np.array([0, 2]), np.array([1, 3])))
    assert 0.0 < two.standard_error < math.inf
    first = once((np.array([1.0]), np.array([1.2]), np.array([0]), np.array([1])))
    assert first.standard_error == math.inf


def test_the_middle_one_of_three_rounds_has_neighbours() -> None:
    """Runs 1 and 4 are next to round 2 (positions 2 and 3): a rise by 3 in 3 steps, of which the round is one."""
    pairs = PairedDifferences.of([0.0, 2.0, 4.0], [1.0, 3.0, 5.0], [0, 2, 4], [1, 3, 5])
    assert pairs.drift.tolist() == [0.0, 1.0, 0.0]
    assert pairs.label[0] == pairs.label[2] == 0.0


def test_a_drift_is_no_part_of_the_scale() -> None:
    """The scale of runs that rise steadily with hardly any noise is the noise that remains after the neighbours'
    slope."""
    rng = np.random.default_rng(3)
    at = np.arange(400.0)
    rise = np.where(np.arange(200) % 2, 1.0, -1.0)
    y = at + 0.001 * rng.standard_normal(400)
    first = np.where(rise > 0, at[::2], at[1::2]).astype(int)
    second = np.where(rise > 0, at[1::2], at[::2]).astype(int)
    score = PairedScore(PairedDifferences.of(y[first], y[second], first, second), 0.0)
    assert score.beta == pytest.approx(1.0, abs=0.01)
    assert score.scale < 0.01
