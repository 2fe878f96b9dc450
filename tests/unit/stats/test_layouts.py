"""Two programs in several layouts, from simulated times whose truth is known."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind
from tests.samples import samples

from becalm.stats.layouts import center_by_rounds, compare_layouts, layout_sample
from becalm.stats.paired import RepeatedPairs

LAYOUT, NOISE, ROUNDS = 0.02, 0.01, 30


def times(rng, layouts, rounds=ROUNDS, layout=LAYOUT, noise=NOISE, shift=0.0):
    """Return log times of the layouts of a program, shape (layouts, rounds)."""
    own = shift + layout * rng.normal(size=(layouts, 1))
    return own + noise * rng.normal(size=(layouts, rounds))


def estimated(old, new):
    """Return the estimate from log times."""
    first, second, _ = center_by_rounds(old, new)
    return compare_layouts(layout_sample(first), layout_sample(second), first.shape[1])


def two_programs(rng, layouts, shift=0.0, **how):
    """Return the estimate of two programs that share a drift from round to round."""
    drift = 0.1 * np.cumsum(rng.normal(size=how.get("rounds", ROUNDS)))
    return estimated(times(rng, layouts, **how) + drift, times(rng, layouts, shift=shift, **how) + drift)


@pytest.mark.parametrize("layouts", [2, 4, 10])
@pytest.mark.parametrize("noise", [0.001, 0.05])
def test_the_interval_covers_the_truth(layouts, noise):
    rng, count = np.random.default_rng(layouts), samples(200, 4000)
    estimates = [two_programs(rng, layouts, shift=0.03, noise=noise, rounds=5) for _ in range(count)]
    missed = sum(not estimate.low <= 0.03 <= estimate.high for estimate in estimates)
    # Welch's t misses in at most 5 %; of two layouts in fewer.
    assert missed <= 0.05 * count + 3 * math.sqrt(0.05 * 0.95 * count)


def test_relinks_are_rarely_called_different_where_single_pairs_mostly_are():
    rng, count = np.random.default_rng(3), samples(25, 1000)
    layouts = sum(two_programs(rng, 10, rounds=5).p_value < 0.05 for _ in range(count))
    pairs = 0
    for _ in range(count):
        order = rng.random(60) < 0.5
        positions = 2 * np.arange(60)
        old, new = times(rng, 1, rounds=60)[0], times(rng, 1, rounds=60)[0]
        look = RepeatedPairs().look(old, new, positions + order, positions + ~order, 1.0)
        pairs += look.low > 0 or look.high < 0
    assert layouts <= 0.05 * count + 3 * math.sqrt(0.05 * 0.95 * count)
    assert pairs > count / 2


def test_it_is_welch_on_the_means_of_the_layouts():
    rng = np.random.default_rng(4)
    old, new = times(rng, 5, rounds=3), times(rng, 7, rounds=3, layout=0.01, shift=0.02)
    estimate = estimated(old, new)
    theirs = ttest_ind(new.mean(axis=1), old.mean(axis=1), equal_var=False)
    assert estimate.p_value == pytest.approx(theirs.pvalue)
    assert estimate.freedom == pytest.approx(theirs.df)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(theirs.confidence_interval()))


def test_layout_and_noise_are_told_apart():
    rng = np.random.default_rng(5)
    first, second, _ = center_by_rounds(times(rng, 200), times(rng, 200, layout=0.0))
    old, new = layout_sample(first), layout_sample(second)
    assert old.layout == pytest.approx(LAYOUT, rel=0.15)
    assert old.noise == pytest.approx(NOISE / math.sqrt(ROUNDS), rel=0.1)
    assert new.layout < 0.2 * LAYOUT
    estimate = compare_layouts(old, new, ROUNDS)
    assert estimate.noise_share == pytest.approx(2 * NOISE**2 / ROUNDS / (LAYOUT**2 + 2 * NOISE**2 / ROUNDS), rel=0.3)


def test_outliers_of_single_runs_do_not_pass_for_layout():
    rng = np.random.default_rng(6)
    old, new = times(rng, 8, layout=0.0), times(rng, 8, layout=0.0)
    calm = estimated(old, new)
    old[2, 4] += 3.0
    assert estimated(old, new).standard_error < 1.5 * calm.standard_error


def test_one_round_leaves_noise_unknown():
    rng = np.random.default_rng(7)
    estimate = two_programs(rng, 6, rounds=1)
    assert math.isfinite(estimate.low)
    assert math.isnan(estimate.noise_share)
    assert estimate.called is None


def test_single_pairs_of_far_layouts_are_counted():
    rng = np.random.default_rng(8)
    estimate = two_programs(rng, 10, layout=0.1, noise=0.001)
    assert estimate.called > 90
    assert estimate.low < 0 < estimate.high


def test_equal_values_have_no_error():
    estimate = estimated(np.zeros((3, 4)), np.zeros((3, 4)))
    assert (estimate.low, estimate.high, estimate.p_value, estimate.noise_share) == (0, 0, 1, 0)


@pytest.mark.parametrize("shapes", [((1, 4), (3, 4)), ((3, 4), (3, 5)), ((3, 0), (3, 0))])
def test_shapes_that_say_nothing_are_rejected(shapes):
    with pytest.raises(ValueError, match="comparison of layouts needs"):
        center_by_rounds(*map(np.zeros, shapes))
