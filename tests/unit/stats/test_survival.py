"""The edges of a survival function: it begins with 1 at the smallest value, and ends at the largest, not next to it."""

import numpy as np
import pytest

from becalm.stats.histogram import histogram
from becalm.stats.survival import survival


def test_small_cases_by_hand():
    assert survival(np.array([5.0])) == ((5.0, 1.0),)
    assert survival(np.array([1.0, 2.0, 2.0, 10.0])) == ((1.0, 1.0), (2.0, 0.75), (10.0, 0.25))
    assert survival(np.array([3.0, 3.0, 3.0])) == ((3.0, 1.0),)
    with pytest.raises(ValueError, match="at least one"):
        survival(np.array([]))


@pytest.mark.parametrize("values", [np.arange(100_000.0), np.round(np.random.default_rng(1).pareto(1, 100_000), 2)])
def test_every_point_of_a_thinned_one_is_exact_and_both_ends_stay(values):
    ordered = np.sort(values)
    points = survival(ordered)
    assert 50 < len(points) <= 202
    assert points[0] == (ordered[0], 1.0)
    assert points[-1][0] == ordered[-1]
    for value, share in points:
        assert share == pytest.approx((ordered >= value).mean())
    assert [share for _, share in points] == sorted((share for _, share in points), reverse=True)


def test_bins_are_whole_steps_and_hold_all_of_the_data():
    values = np.array([100.0, 110.0] * 50 + [120.0] * 30)
    free, stepped = histogram(values), histogram(values, 10.0)
    assert 0 in free.counts
    assert (stepped.low, stepped.high, stepped.counts) == (100.0, 130.0, (50, 50, 30))
    assert histogram(np.array([7.0] * 9), 10.0).counts == (9,)
    left = histogram(np.arange(100.0), between=(0.0, 49.0))
    assert (left.low, left.high, sum(left.counts), left.below, left.above) == (0.0, 49.0, 50, 0, 50)
    many = np.random.default_rng(2).normal(500, 20, 5_000)
    drawn = histogram(many, 1.0)
    assert sum(drawn.counts) + drawn.below + drawn.above == 5_000
    width = (drawn.high - drawn.low) / len(drawn.counts)
    assert width == pytest.approx(round(width))
    assert drawn.low == many.min()
    assert many.max() <= drawn.high <= many.max() + width
