"""Numbers in words: as many digits as they are worth, and never more than a table has room for."""

import math

import pytest

from becalm.wording.numbers import factor, percent

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
