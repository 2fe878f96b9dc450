"""The table of objectives: what holds of every row, and that a search minimises what the confirmation confirms."""

import numpy as np
import pytest

from becalm.errors import UsageError
from becalm.methods.protocol import NO_SETTINGS, Sample
from becalm.nouns.objective import TABLE, TIME, find, goals, names
from becalm.stats.spread import CV, MAD, loop_spread, spread_ratio


def loops(seed, sd=0.02, mean=1e8, count=8, runs=10):
    rng = np.random.default_rng(seed)
    return [mean * np.exp(sd * rng.standard_normal(runs)) for _ in range(count)]


BETTER = {"spread": {"sd": 0.002}, "time": {"mean": 0.9e8}}
"""The property that makes an arm better, for each goal."""


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
class TestEveryRow:
    def test_a_better_arm_has_a_smaller_value_and_a_ratio_above_1(self, row):
        usual, better = loops(1), loops(2, **BETTER[row.minimizes])
        assert Sample(NO_SETTINGS, tuple(better)).value(row.name) < Sample(NO_SETTINGS, tuple(usual)).value(row.name)
        ratio = row.ratio(usual, better, 0.05)
        assert 1 < ratio.low < ratio.value < ratio.high
        assert row.ratio(better, usual, 0.05).high < 1

    def test_arms_that_are_equal_have_a_ratio_of_1(self, row):
        ratio = row.ratio(loops(3), loops(3), 0.05)
        assert (ratio.value, ratio.p_value) == (1.0, 1.0)

    def test_a_typical_loop_lies_in_its_interval_and_near_the_pooled_value(self, row):
        arm = loops(4, count=200)
        value, low, high = row.typical(arm, 0.05)
        assert low < value < high
        assert row.pooled([row.value(loop) for loop in arm]) == pytest.approx(value, rel=0.15)

    def test_the_value_is_of_the_unit_of_the_row(self, row):
        arm = loops(5)[0]
        twice = row.value(2 * arm) / row.value(arm)
        assert twice == pytest.approx(2 if row.unit == "ns" else 1)

    def test_a_failed_trial_is_infinitely_bad_and_so_is_one_without_enough_runs(self, row):
        assert Sample(NO_SETTINGS, tuple(loops(6)), failed=1).value(row.name) == float("inf")
        assert Sample(NO_SETTINGS, ()).value(row.name) == float("inf")
        assert Sample(NO_SETTINGS, (np.full(row.fewest - 1, 1e8),)).value(row.name) == float("inf")

    def test_it_is_found_and_has_words(self, row):
        assert find(row.name) is row
        assert row.what
        assert row.definition.endswith(" of")
        assert 0 < row.efficiency <= 1


@pytest.mark.parametrize(("name", "estimator"), [("cv", CV), ("mad", MAD)])
def test_a_search_minimises_the_function_that_confirms(name, estimator):
    arms = loops(7, count=3), loops(8, sd=0.01, count=3)
    for arm in arms:
        squares = [loop_spread(loop, estimator) ** 2 for loop in arm]
        assert Sample(NO_SETTINGS, tuple(arm)).value(name) == pytest.approx(np.sqrt(np.mean(squares)))
    assert find(name).ratio(*arms, 0.05) == spread_ratio(*arms, estimator, 0.05)


def test_equal_times_are_as_steady_as_the_clock_shows_also_in_a_search():
    """A search that takes them for infinitely steady would choose whatever is quick enough to be rounded."""
    assert Sample(NO_SETTINGS, (np.full(5, 1000.0),)).value("cv") == pytest.approx(1 / np.sqrt(12) / 1000)


def test_goals_come_in_the_order_of_the_table_with_their_usual_row_first():
    assert goals() == ("spread", "time")
    assert names("spread") == ("cv", "mad")
    assert names("time") == (TIME.name,)
    with pytest.raises(UsageError, match="cv, mad, time"):
        find("range")
