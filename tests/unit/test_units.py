import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm.errors import UsageError
from becalm.nouns.metric import metric
from becalm.units import (
    cpu_list,
    duration_ns,
    exit_codes,
    fraction,
    join_names,
    limit_ns,
    plain_number,
    size_bytes,
    whole_number,
)


@pytest.mark.parametrize(
    ("text", "ns"),
    [("30s", 30 * 10**9), ("1.5ms", 1_500_000), ("2min", 120 * 10**9), ("1h", 3600 * 10**9), ("7", 7 * 10**9),
     (" 10 us ", 10_000), ("10µs", 10_000), (0.5, 500_000_000), ("1e-3s", 1_000_000), (".5s", 500_000_000)],
)  # fmt: skip
def test_durations(text, ns):
    assert duration_ns(text) == ns


@pytest.mark.parametrize(
    "text", ["", "s", "-1s", "0", "1 fortnight", "nan", "inf", "1.2.3s", "1e30s", 0, -1, 1e12, math.nan, math.inf]
)
def test_bad_durations(text):
    with pytest.raises(UsageError):
        duration_ns(text)


@pytest.mark.parametrize(
    ("text", "value"), [("0.5%", 0.005), ("0.005", 0.005), (0.02, 0.02), ("2 %", 0.02), ("150%", 1.5)]
)
def test_fractions(text, value):
    assert fraction(text) == pytest.approx(value)


@pytest.mark.parametrize("text", [2, "2", 5.0, "1", 1, "1e3"])
def test_a_share_of_one_and_more_needs_its_sign(text):
    """--fail-above 2 may mean 2 %, and would be 200 %."""
    with pytest.raises(UsageError, match=rf"{float(text):g}% or as {100 * float(text):g}%"):
        fraction(text)


@pytest.mark.parametrize("text", ["", "%", "-1%", "0%", "half", 0, -0.1, math.inf])
def test_bad_fractions(text):
    with pytest.raises(UsageError):
        fraction(text)


@pytest.mark.parametrize("text", ["", "-1M", "0", "nan", "inf", "9e99", "99999999999T", -1, math.nan, math.inf, 1e30])
def test_bad_sizes(text):
    with pytest.raises(UsageError):
        size_bytes(text)


@pytest.mark.parametrize("text", ["1e30s", "1e300s", "101000d".replace("d", "0h"), "1e308h"])
def test_a_duration_has_a_bound_that_is_named(text):
    with pytest.raises(UsageError, match=f"at most 100 years, not '{text}'"):
        duration_ns(text)


@pytest.mark.parametrize("text", ["1e30G", "1e308", "2000000T"])
def test_a_size_has_a_bound_that_is_named(text):
    with pytest.raises(UsageError, match=f"at most 1048576T, not '{text}'"):
        size_bytes(text)


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775808", "9" * 10_000])
def test_a_whole_number_has_a_bound_that_is_named(text):
    with pytest.raises(UsageError, match="at most 9223372036854775807, not ") as caught:
        whole_number(text)
    assert len(str(caught.value)) < 120
    assert whole_number("9223372036854775807") == whole_number("+00009223372036854775807") == 2**63 - 1


def test_limits():
    assert limit_ns(30.0) == 30 * 10**9
    assert limit_ns("none") is None
    assert limit_ns(math.inf) is None


@given(st.text())
def test_any_text_is_a_duration_or_a_usage_error(text):
    try:
        assert duration_ns(text) > 0
    except UsageError as error:
        assert repr(text) in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("names", "message"),
    [("", ""), ("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ("abcde", "a, b, c, d and e"),
     ("abcdef", "a, b, c, d, e and 1 more")],
)  # fmt: skip
def test_lists(names, message):
    assert join_names(names) == message
    assert join_names(iter(names), "or") == message.replace(" and ", " or ")


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1), (" 1.5 ", 1.5), (".5", 0.5), ("1e3", 1000), ("-2", -2), ("1234", 1234)]
)
def test_plain_numbers_are_read(text, number):
    assert plain_number(text) == number


SEPARATED = ["1,234", "1,5", "1.234.567", "1_000", "1'000", "12 345", "1,234.5", "1.234,5", "1\u202f000", "1,2,3"]


@pytest.mark.parametrize("text", SEPARATED)
def test_numbers_that_can_be_read_in_two_ways_are_refused(text):
    for read in (plain_number, whole_number):
        with pytest.raises(UsageError, match="can be read in two ways"):
            read(text)


@pytest.mark.parametrize("text", ["", "x", "1s", "0x10", "\u0663", "nan", "inf", "1,", ",5", "--1"])
def test_invalid_numbers_are_refused(text):
    with pytest.raises(UsageError, match="is not a number"):
        plain_number(text)
    with pytest.raises(UsageError, match="is not a whole number"):
        whole_number("1.5")


def test_lists_of_processors_and_codes_take_no_separators():
    with pytest.raises(UsageError, match="list of processors"):
        cpu_list("1_0")
    with pytest.raises(UsageError, match="list of exit codes"):
        exit_codes("1_0")


@pytest.mark.parametrize("read", [duration_ns, size_bytes, plain_number, whole_number, metric])
def test_a_long_text_is_quoted_by_its_beginning(read):
    with pytest.raises(UsageError) as caught:
        read("x" * 6000)
    assert "xxx'… (6,000 characters)" in str(caught.value)
    assert len(str(caught.value)) < 500
