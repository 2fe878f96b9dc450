"""Numbers with units, and sparklines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm.load.metrics import Unit
from becalm.report.watch.lines import short
from becalm.report.watch.numbers import ASCII, BLOCKS, mean, number, peak, size, sparkline, stretched

values = st.lists(st.none() | st.floats(min_value=0, max_value=1e12), max_size=200)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, Unit.SHARE, "?"),
        (0.0, Unit.SHARE, "0.0 %"),
        (1.0, Unit.SHARE, "100.0 %"),
        (3.0, Unit.TASKS, "3"),
        (3.25, Unit.TASKS, "3.25"),
        (0.0, Unit.BYTES, "0 B/s"),
        (1536.0, Unit.BYTES, "1.5 KiB/s"),
        (120 * 2.0**20, Unit.BYTES, "120 MiB/s"),
        (3 * 2.0**40, Unit.BYTES, "3072 GiB/s"),
        (0.5, Unit.RATE, "0.5/s"),
        (641.0, Unit.RATE, "641/s"),
        (12_345.0, Unit.RATE, "12 k/s"),
        (2.41e9, Unit.HERTZ, "2.41 GHz"),
    ],
)
def test_numbers(value, unit, text):
    assert number(value, unit) == text


def test_short_numbers_of_lines():
    assert [short(v, Unit.BYTES) for v in (None, 0, 999, 1000, 12 * 1024, 5e9)] == [
        "-",
        "0",
        "999",
        "1.0k",
        "12k",
        "4.7G",
    ]
    assert [short(v, Unit.SHARE) for v in (0.5, 1.0, 64.0)] == ["50.0", "100", "6400"]


@given(values, st.integers(1, 80), st.sampled_from(list(Unit)), st.booleans())
def test_a_sparkline_fits_and_says_where_nothing_is_known(numbers, width, unit, plain):
    line = sparkline(numbers, width, unit, plain=plain)
    assert len(line) == min(len(numbers), width)
    assert set(line) <= set(ASCII if plain else BLOCKS) | {" "}
    if len(numbers) <= width:
        assert [mark == " " for mark in line] == [value is None for value in numbers]


@given(st.lists(st.floats(min_value=0, max_value=1e9), min_size=1, max_size=500), st.integers(1, 60))
def test_a_peak_stays_one_however_narrow(numbers, width):
    line = sparkline(numbers, width, Unit.RATE)
    if max(numbers) > 0:
        assert BLOCKS[-1] in line


def test_zero_lies_at_the_bottom_and_the_least_thing_above_it():
    assert sparkline([0.0, 1e-6, 1.0], 3, Unit.SHARE) == "▁▂█"
    assert sparkline([0.0, 0.0], 5, Unit.BYTES) == "▁▁"
    assert sparkline([2.0], 5, Unit.TASKS, least=4.0) == "▅", "half of the CPUs"
    assert sparkline([2.0e9, 3.0e9], 5, Unit.HERTZ) == "▁█"
    assert sparkline([2.0e9], 5, Unit.HERTZ) == "█"


def test_mean_and_peak_leave_out_what_is_not_known():
    assert mean([1.0, None, 3.0]) == 2.0
    assert mean([None]) is None
    assert peak([1.0, None, 3.0, 3.0]) == (3.0, 2), "the first of equals"
    assert peak([None, None]) is None


def test_sizes():
    assert [size(v) for v in (0, 1023, 1024, 10 * 1024 * 1024)] == ["0 B", "1.0 KiB", "1.0 KiB", "10.0 MiB"]


def test_samples_stand_where_they_were_in_time():
    assert stretched([10, 20], [1.0, 2.0], 20, 4) == [1.0, 1.0, 2.0, 2.0]
    assert stretched([19, 20], [1.0, None], 20, 4) == [1.0, 1.0, 1.0, 1.0]
    assert stretched([10, 10.1, 20], [1.0, 9.0, 2.0], 20, 4) == [1.0, 1.0, 9.0, 2.0], "a narrow peak is not lost"
    assert stretched([5], [1.0], 0, 3) == [None] * 3
    assert stretched([], [], 20, 2) == [None, None]


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=300), st.integers(1, 60))
def test_the_largest_sample_is_in_some_column(gaps, width):
    ends = [sum(gaps[: index + 1]) for index in range(len(gaps))]
    values = [float(index) for index in range(len(gaps))]
    stretched_values = stretched(ends, values, ends[-1], width)
    assert max(value for value in stretched_values if value is not None) == values[-1] or len(gaps) > width
