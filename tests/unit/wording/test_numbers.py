"""Numbers in words: as many digits as they are worth, and never more than a table has room for."""

import math

import pytest

from becalm.wording.metric import quantity
from becalm.wording.numbers import duration, factor, percent, time_unit
from becalm.wording.suite import number

WIDEST = 12
"""Characters that a number may take in a table."""


@pytest.mark.parametrize(
    ("value", "uncertainty", "expected"),
    [
        (0.12345, 0.001, "12.35"),
        (0.12345, 0.1, "12"),
        (0.0, None, "0.00"),
        (-0.00001, 0.1, "0"),
        (9_999.98, None, "999998"),
    ],
)
def test_a_percentage_has_the_digits_that_its_uncertainty_lets_stand(value, uncertainty, expected):
    assert percent(value, uncertainty) == expected


@pytest.mark.parametrize("value", [1e45, math.inf, 10_000.0])
def test_percentages_that_say_nothing_are_bounded(value):
    assert percent(value) == percent(value, 0.1, sign=True) == ">999,999"
    assert percent(-value) == "<-999,999"
    assert factor(1e6 * value, 0.1) == ">999,999,999"


def test_an_unknown_number_is_a_question_mark():
    assert percent(math.nan) == factor(math.nan, 0.1) == "?"


@pytest.mark.parametrize("exponent", range(-10, 300, 7))
def test_no_number_is_wider_than_its_column(exponent):
    for uncertainty in (None, 1e-12, 0.3, 1e9, math.inf):
        for value in (10.0**exponent, -(10.0**exponent)):
            assert len(percent(value, uncertainty, sign=True)) <= WIDEST
        assert len(factor(10.0**exponent, uncertainty or 0.0)) <= WIDEST


@pytest.mark.parametrize("exponent", [*range(-30, 300, 7), 400])
@pytest.mark.parametrize("unit", ["", "us", "s"])
def test_no_time_is_wider_than_its_column(exponent, unit):
    time_unit(unit)
    try:
        for sign in (1, -1):
            value = sign * (10.0**exponent if exponent < 300 else math.inf)
            text = duration(value)
            assert len(text) <= len("-999,999,999,999 µs"), text
    finally:
        time_unit("")


def test_times_that_say_nothing_are_bounded():
    assert duration(1e40) == duration(math.inf) == ">999,999 min"
    assert duration(-math.inf) == "<-999,999 min"
    assert duration(math.nan) == "?"
    assert duration(-3e12) == "-50.0 min"
    assert duration(600_000 * 60e9) == "600000.0 min"


@pytest.mark.parametrize("exponent", range(-60, 61, 4))
@pytest.mark.parametrize("unit", ["", "bytes", "s", "messages"])
def test_no_quantity_is_wider_than_its_column(exponent, unit):
    for value in (10.0**exponent, -3.3 * 10.0**exponent):
        assert len(quantity(value, unit).partition(" ")[0]) <= 16


@pytest.mark.parametrize("value", [1e-9, 0.5, 12.3, 999.0, 123456.0, 1e9, 1e30, 1e300, math.inf, math.nan, None])
def test_no_ratio_is_wider_than_its_column(value):
    assert len(number(value)) <= 12
