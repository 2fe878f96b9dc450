"""Bins and curves of what a timer read, by hand: every edge where a value could fall into the wrong one."""

import pytest

from becalm.report.clock.figures import bars, below, survival


def test_a_bar_lies_around_its_value_and_none_is_shifted():
    bar_rows = bars([(20.0, 5), (30.0, 2), (60.0, 1)])
    assert bar_rows == [(15.0, 25.0, 5), (25.0, 35.0, 2), (35.0, 45.0, 0), (45.0, 55.0, 0), (55.0, 65.0, 1)]
    for low, high, _ in bar_rows:
        assert sum(low <= value < high for value in (20.0, 30.0, 40.0, 50.0, 60.0)) == 1


@pytest.mark.parametrize(
    ("first", "step", "many"), [(10.0, 10.0, 48), (15.751, 0.716, 49), (7.0, 1.0, 97), (0.1, 0.1, 1_000)]
)
def test_every_measurement_is_in_the_bar_that_holds_its_value(first, step, many):
    reference = [(first + step * place, place + 1) for place in range(many)]
    bar_rows = bars(reference, 48)
    assert len(bar_rows) <= 48
    assert sum(count for *_, count in bar_rows) == sum(count for _, count in reference)
    for low, high, count in bar_rows:
        # Edges lie between values, so a rounding error moves none to its neighbour.
        assert count == sum(bar for value, bar in reference if low <= value < high)
    # As many places in each, the last one apart.
    places = [sum(low <= value < high for value, _ in reference) for low, high, _ in bar_rows]
    assert len(set(places[:-1])) <= 1
    assert bar_rows[0][0] < reference[0][0] < bar_rows[0][1]
    assert bar_rows[-1][0] < reference[-1][0] < bar_rows[-1][1]


def test_one_value_is_one_bar_and_none_is_no_bar():
    assert bars([(20.0, 7)]) == [(19.5, 20.5, 7)]
    assert bars([]) == []


def test_the_curve_falls_just_behind_each_value():
    reference = [(20.0, 5), (30.0, 3), (100.0, 2)]
    corners = survival(reference)
    assert corners == [(20.0, 1.0), (20.0, 0.5), (30.0, 0.5), (30.0, 0.2), (100.0, 0.2)]
    assert survival([(20.0, 4)]) == [(20.0, 1.0)]
    # As drawn: between two corners it is level, and of any time it gives the share that is at least so long.
    for time in (10.0, 20.0, 20.1, 29.9, 30.0, 30.1, 100.0):
        level = next((share for at, share in corners if at >= time), 0.0)
        assert level == sum(count for value, count in reference if value >= time) / 10


def test_the_longest_are_left_out_and_never_all():
    reference = [(20.0, 990), (30.0, 6), (900.0, 4)]
    assert below(reference, 0.995) == [(20.0, 990), (30.0, 6)]
    assert below(reference, 1.0) == reference
    assert below([(5.0, 1)], 0.995) == [(5.0, 1)]
