"""Several programs in order: who is retired, when it is known, and what it would take."""

import math
import re

import pytest
from msgspec import structs

from becalm import show
from becalm.errors import UsageError
from becalm.results.compare import Stopped, from_json
from becalm.study.conclude import conclude_stored
from becalm.study.stored import stored
from becalm.verbs.compare import compare

OPTIONS = {"host": "sim:drift", "seed": 3}


def by_name(comparison):
    return {place.name: place for place in comparison.ranking.places}


def test_the_fastest_of_several_values_is_found_and_the_others_are_left_out(store):
    comparison = compare(["spin {n}ms"], parameters={"n": "20,10,12,15,10.5"}, store=store, **OPTIONS)
    places = by_name(comparison)
    assert comparison.stopped is Stopped.KNOWN
    # Distances are to the best, not to a first variant that was left out early.
    assert {difference.reference for difference in comparison.differences} == {"spin 10ms"}
    distances = {difference.name: difference for difference in comparison.differences}
    assert distances["spin 10.5ms"].low < 0.05 < distances["spin 10.5ms"].high
    assert distances["spin 10.5ms"].pairs == places["spin 10.5ms"].rounds > distances["spin 20ms"].pairs
    assert comparison.ranking.fastest == ("spin 10ms",)
    assert "spin 10ms is the fastest of 5 programs (95 %)." in comparison.sentence
    assert [place.name for place in comparison.ranking.places][:2] == ["spin 10ms", "spin 10.5ms"]
    assert places["spin 20ms"].rounds < places["spin 10ms"].rounds
    again = conclude_stored(structs.replace(stored(1, store), verdict=None))
    assert again == comparison, "looks, dropped programs and numbers are a function of what is stored"
    assert show(1, store=store).verdict == comparison
    assert from_json(comparison.to_json()) == comparison


def test_an_undecided_ranking_reports_the_time_it_needs(store):
    comparison = compare(["spin {n}ms"], parameters={"n": "100,100.1,150"}, budget="5s", store=store, **OPTIONS)
    assert comparison.ranking.fastest != ("spin 100ms",)
    assert comparison.ranking.decides_ns > comparison.elapsed_ns
    assert "in all would decide: --budget" in comparison.sentence
    assert "spin 150ms cannot be the fastest." in comparison.sentence


def test_from_few_rounds_nobody_is_told_how_far_programs_differ_and_what_would_decide(store):
    comparison = compare(["spin 10ms", "spin 11ms", "spin 15ms"], runs=2, store=store, **OPTIONS)
    assert comparison.ranking.decides_ns is None
    assert comparison.ranking.within == math.inf
    assert "Not yet known which of 3 programs is the fastest; spin 10ms was. Measure longer." in comparison.sentence


def test_without_parameters_all_have_all_rounds_and_are_ranked(store):
    comparison = compare(["spin 10ms", "spin 11ms", "spin 15ms"], runs=60, store=store, **OPTIONS)
    assert {place.rounds for place in comparison.ranking.places} == {60}
    assert [place.name for place in comparison.ranking.places] == ["spin 10ms", "spin 11ms", "spin 15ms"]
    assert len(comparison.sentence.splitlines()) == 3


def test_many_are_not_said_one_by_one(store):
    comparison = compare([f"spin {n}ms" for n in range(10, 16)], runs=60, store=store, **OPTIONS)
    first, second = comparison.sentence.splitlines()
    assert first == "spin 10ms is the fastest of 6 programs (95 %)."
    assert re.match(r"spin 11ms is 10\.\d+ % slower than spin 10ms ", second)
    assert len(comparison.differences) == 5


def test_two_are_compared_and_not_ranked(store):
    assert compare(["spin 10ms", "spin 11ms"], runs=6, store=store, **OPTIONS).ranking is None


@pytest.mark.parametrize("other", [{"runs": 9}, {"precision": "1%"}, {"fail_above": "2%"}])
def test_options_that_need_all_rounds_keep_all_programs(store, other):
    with pytest.raises(UsageError, match="--fastest leaves programs out"):
        compare(["spin {n}ms"], parameters={"n": "1..3"}, fastest=True, store=store, **OPTIONS, **other)
    comparison = compare(
        ["spin {n}ms"], parameters={"n": "10,20,40"}, store=store, **OPTIONS, **{"budget": "3s", **other}
    )
    assert len({place.rounds for place in comparison.ranking.places}) == 1
