"""The difference that a number of pairs could have shown."""

import math

import numpy as np
import pytest

from becalm.stats.power import detectable, detectable_in_pairs


@pytest.mark.parametrize(("pairs", "critical"), [(8, 1.96), (14, 2.704), (14, 1.96), (30, 3.5), (100, 1.96)])
def test_four_of_five_differences_of_that_size_reach_the_critical_value(pairs, critical):
    """By 20,000 draws: the sum of normal differences over the root of the sum of their squares, as for pairs."""
    draws = np.random.default_rng(pairs).normal(size=(20_000, pairs))
    # The error that such pairs state: their squares are about their mean.
    error = math.sqrt(1 - 1 / pairs) / math.sqrt(pairs)
    shifted = draws + detectable_in_pairs(error, critical, pairs)
    statistic = shifted.sum(axis=1) / np.sqrt(np.square(shifted).sum(axis=1))
    assert (statistic >= critical).mean() == pytest.approx(0.8, abs=0.06)


def test_it_is_that_of_a_normal_statistic_for_many_pairs():
    assert detectable_in_pairs(0.01, 2.2, 10**6) == pytest.approx(detectable(0.01, 2.2), rel=1e-4)


@pytest.mark.parametrize(("error", "pairs"), [(0.01, 1), (0.01, 5), (math.inf, 100)])
def test_no_difference_can_be_seen_where_none_reaches_the_critical_value(error, pairs):
    assert detectable_in_pairs(error, 2.1, pairs) == math.inf
