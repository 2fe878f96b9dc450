"""Factors that an experiment varies."""

import pytest

from becalm.errors import UsageError
from becalm.nouns.domain import Domain, Range, Scale
from becalm.nouns.factor import Factor, check_distinct


@pytest.mark.parametrize(
    "text",
    ["time=80..90min", "slice=0.1..100ms:log", "n=1..64:log:whole", "t=-5..5", "policy=other,batch,idle", "x=1e-09..1"],
)
def test_a_factor_is_spelled_as_it_was_written(text):
    assert Factor.parse(text).spelled == text
    assert Factor.parse(Factor.parse(text).spelled) == Factor.parse(text)


def test_spaces_and_scales_of_a_factor_are_accepted():
    assert Factor.parse(" time = 80 .. 90 min ") == Factor("time", 80, 90, "min")
    assert Factor.parse("x=1..2:linear").scale is Scale.LINEAR
    assert Factor.parse("p= a , b ").choices == ("a", "b")


def test_coded_and_natural_units():
    time = Factor.parse("time=80..90min")
    assert [time.coded(value) for value in (80, 85, 90, 92.5)] == [-1, 0, 1, 1.5]
    assert time.natural(-1.5) == 77.5
    slice_ = Factor.parse("slice=0.1..10ms:log")
    assert slice_.coded(1.0) == pytest.approx(0)
    assert slice_.natural(0.5) == pytest.approx(10**0.5)
    assert Factor.parse("n=1..8:whole").natural(0.1) == 5
    policy = Factor.parse("policy=other,batch")
    assert (policy.coded("batch"), policy.natural(0.0)) == (1.0, "other")


def test_a_place_far_outside_of_the_range_has_a_level_all_the_same():
    slice_ = Factor.parse("slice=100000..1000000000ns:log:whole")
    for coded in (3.0, 20.0, 1e3, 1e9):
        assert 0 < slice_.natural(coded) < float("inf")
        assert len(slice_.worded(slice_.natural(coded), 5)) < 20
        assert slice_.natural(-coded) >= 0
    assert slice_.worded(2_184_900_000_000, 5) == "36.415 min"
    assert slice_.worded(7_200_000_000_000, 5) == "2 h"
    assert slice_.worded(200_000_000_000_000, 5) == "2.3148 d"
    assert Factor.parse("t=1..9s").worded(5000.0) == "5000 s"


def test_levels_in_words():
    assert Factor.parse("time=80..90min").worded(86.86148) == "86.8615 min"
    assert Factor.parse("n=1..8").worded(3) == "3"
    assert Factor.parse("n=1..8000000").worded(7654321) == "7654320"
    assert Factor.parse("policy=other,batch").worded("batch") == "batch"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time", "'time' has no range"),
        ("time=", "'time' has no range"),
        ("=1..2", "needs a name"),
        ("t=5..1", "lower to a higher"),
        ("t=1..1", "lower to a higher"),
        ("t=a", "not a range of t"),
        ("t=1..2..3..x:", "not by :"),
        ("t=0..5:log", "above 0"),
        ("t=1..5:cubic", "not by :cubic"),
        ("t=1.5..3:whole", "whole numbers only"),
        ("t=a,a", "at least two different choices"),
        ("t=a,", "at least two different choices"),
    ],
)
def test_invalid_factors_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        Factor.parse(text)


def test_values_outside_a_factor_are_refused():
    with pytest.raises(UsageError, match="one of other, batch"):
        Factor.parse("policy=other,batch").coded("idle")
    with pytest.raises(UsageError, match="is a number"):
        Factor.parse("t=1..2").coded("fast")
    with pytest.raises(UsageError, match="cannot be on the logarithmic scale"):
        Factor.parse("t=1..2:log").coded(0.0)


def test_a_knob_is_a_factor_by_its_domain():
    factor = Factor.of_domain("slice_ns", Domain("whole numbers", range=Range(100_000, 10**9, "ns", Scale.LOG)))
    assert factor.spelled == "slice_ns=100000..1000000000ns:log:whole"
    assert Factor.of_domain("policy", Domain("words", choices=("other", "batch"))).choices == ("other", "batch")
    with pytest.raises(UsageError, match="cannot be varied"):
        Factor.of_domain("cpus", Domain("lists of CPUs", cpus=True))


def test_names_are_there_once():
    factor = Factor.parse("a=1..2")
    assert check_distinct((factor,)) == (factor,)
    with pytest.raises(UsageError, match="twice"):
        check_distinct((factor, factor))


@pytest.mark.parametrize(
    ("factor", "level", "message"),
    [
        ("slice=100000..1000000000ns:log", 1e9, "1 s"),
        ("slice=100000..1000000000ns:log", 289_128_000.0, "289.128 ms"),
        ("slice=100000..1000000000ns:log", 100_000, "100 µs"),
        ("slice=100..90000ns:log", 9255.32, "9.25532 µs"),
        ("slice=100..900us", 300, "300 us"),
        ("slice=0.1..100ms:log", 0.1, "0.1 ms"),
        ("slice=0..100ms", 0, "0 ms"),
        ("slice=0.1..100ms:log", 1e-20, "1e-20 ms"),
    ],
)
def test_times_are_reported_in_a_unit_that_is_easy_to_read(factor, level, message):
    assert Factor.parse(factor).worded(level) == message


@pytest.mark.parametrize("text", ["slice=0.5..2..0.5", "slice=0.5..2..0.5:log", "n=1..8..2"])
def test_a_step_is_none_of_a_factor(text):
    with pytest.raises(UsageError, match=r"takes no step: write (slice=0\.5\.\.2|n=1\.\.8)\. "):
        Factor.parse(text)
