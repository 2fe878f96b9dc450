"""The table of what becalm costs in two checkouts."""

import costs
import pytest


def test_the_interval_of_a_median_is_that_of_order_statistics():
    # Ten values: the second and the ninth are ends of 97.9 % (Conover 1999, table A3).
    assert costs.interval(range(1, 11)) == (5.5, 2, 9)
    # Twenty: the sixth and the fifteenth, 95.9 %.
    assert costs.interval(range(1, 21)) == (10.5, 6, 15)
    assert costs.interval([3.0, 1.0, 2.0]) == (2.0, 1.0, 3.0), "too few for an interval of 95 %"


def test_a_run_costs_what_many_take_longer_than_few():
    assert costs.Cost(5.0, 10.0, 7).per(costs.Cost(1.0, 2.0, 6), 4) == costs.Cost(1.0, 2.0, 7)


@pytest.mark.parametrize(("seconds", "text"), [(1.234, "1.23 s"), (0.01234, "12.3 ms"), (0.0000123, "12.3 µs")])
def test_times_have_a_unit(seconds, text):
    assert costs.shown(seconds) == text


def test_a_row_says_both_and_their_ratio():
    old, new = costs.Cost(1.0, 2.0, 10**6), costs.Cost(0.5, 3.0, 2 * 10**6)
    cpu, wall = costs.rows("run", [(old, new)] * 10)
    assert cpu == "| run | cpu | 1 s (1 s to 1 s) | 500 ms (500 ms to 500 ms) | 0.500 (0.500 to 0.500) |"
    assert wall.endswith("| 1.500 (1.500 to 1.500) |")
    assert "2 MB" in list(costs.rows(costs.MILLION, [(old, new)] * 3))[-1]
