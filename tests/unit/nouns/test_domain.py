"""Values that a knob takes, and the places of a search's levels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm.nouns.domain import Domain, Range, Scale, text
from becalm.nouns.knob import catalogue, find

SLICE = find(catalogue(), "slice_ns").domain
POLICY = find(catalogue(), "policy").domain
RANGES = st.builds(
    lambda low, width, scale: Range(max(1, low) if scale is Scale.LOG else low, max(1, low) + width, "", scale),
    st.integers(-1000, 10**6),
    st.integers(1, 10**9),
    st.sampled_from(Scale),
)


def test_every_tuned_value_and_every_category_is_of_its_domain():
    for row in catalogue():
        assert row.tuned_value is None or row.domain.holds(row.tuned_value), row.name
        assert all(row.domain.holds(value) for value in row.domain.categories), row.name


def test_a_range_with_a_value_of_its_own_meaning():
    assert SLICE.range == Range(100_000, 100_000_000, "ns", Scale.LOG)
    assert [special.value for special in SLICE.special] == ["0"]
    assert SLICE.holds(0)
    assert SLICE.holds("100000")
    assert not SLICE.holds(99_999)
    assert SLICE.words == "0 (the kernel's default), or 100000 to 100000000 ns"


def test_processes_have_cpus_each():
    domain = find(catalogue(), "process_cpus").domain
    for good in ("12:0", "12:0-1,3;7@99:2"):
        assert domain.holds(good)
    for bad in ("", "12", "12:", "0:1", "12:0;12:1", "12@:0", "12:1-0", "12:x", "12:0;", f"{2**31}:0", "1:99999", 12):
        assert not domain.holds(bad), bad
    assert type(domain).from_json(domain.to_json()) == domain
    assert domain.categories == ()


def test_classes_carry_levels():
    assert [class_.word for class_ in POLICY.classes] == ["other", "batch", "idle", "fifo", "rr"]
    assert POLICY.holds("fifo:99")
    assert not POLICY.holds("fifo:100")
    assert not POLICY.holds("fifo")
    assert POLICY.categories == ("other", "batch", "idle")


def test_values_are_read_as_profiles_have_them():
    assert SLICE.parse("3000000") == 3_000_000
    assert POLICY.parse(" fifo:50 ") == "fifo:50"
    assert find(catalogue(), "aslr").domain.parse(False) == "off"
    with pytest.raises(ValueError, match="100000 to 100000000 ns"):
        SLICE.parse(5)
    assert [text(value) for value in (True, False, "true", -20)] == ["on", "off", "on", "-20"]


def test_levels_are_even_on_the_scale():
    assert Range(0, 100).levels(5) == (0, 25, 50, 75, 100)
    assert Range(100_000, 100_000_000, "ns", Scale.LOG).levels(4) == (100_000, 1_000_000, 10_000_000, 100_000_000)
    assert Range(0, 2).levels(9) == (0, 1, 2), "whole numbers coincide"
    with pytest.raises(ValueError, match="two levels"):
        Range(0, 2).levels(1)


@given(RANGES, st.floats(-3, 3))
def test_coded_places_are_bounded_values_of_the_range(bounds, place):
    value = bounds.natural(place)
    assert value in bounds
    assert bounds.natural(-1) == bounds.low
    assert bounds.natural(1) == bounds.high
    # A whole number is at most half a step from where it was asked for.
    near = [
        bounds.coded(neighbour)
        for neighbour in (value - 0.5, value + 0.5)
        if bounds.scale is Scale.LINEAR or neighbour > 0
    ]
    bounded = min(1.0, max(-1.0, place))
    assert min(near) - 1e-6 <= bounded <= max(near) + 1e-6


@given(RANGES, st.integers(-10, 10**10))
def test_clamping_ends_in_the_range_and_moves_nothing_that_is_in_it(bounds, number):
    assert bounds.clamp(number) in bounds
    assert number not in bounds or bounds.clamp(number) == number


@pytest.mark.parametrize("ends", [(1, 1), (5, 2)])
def test_a_range_has_two_ends(ends):
    with pytest.raises(ValueError, match="must be below its high end"):
        Range(*ends)


def test_a_logarithmic_range_is_above_0():
    with pytest.raises(ValueError, match="above 0"):
        Range(0, 5, "", Scale.LOG)
    with pytest.raises(ValueError, match="needs numbers above 0"):
        Range(1, 5, "", Scale.LOG).coded(0)


def test_a_narrower_domain_of_one_machine_is_read():
    here = Domain.from_json({"kind": "words", "choices": ["performance", "powersave"], "special": [], "words": "…"})
    assert here.holds("powersave")
    assert not here.holds("schedutil")
    anywhere = find(catalogue(), "governor").domain
    assert anywhere.listed
    assert anywhere.holds("schedutil")
    assert not anywhere.holds("two words")
