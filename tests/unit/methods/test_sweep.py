"""A sweep of one setting for the spread."""

import numpy as np
import pytest

from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun, TrialDesign
from becalm.methods.sweep import MOST_LOOPS, places, sweep
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings

RULE = TrialDesign(loops=1, runs=4, warmups=None, objective="cv")


def space(text):
    return Space((), factors=(Factor.parse(text),))


def played(spread, rule=RULE, text="interval=1..1000:log:whole"):
    search = SearchRun(sweep, space(text), rule, 1)
    rng = np.random.default_rng(3)
    asks = []
    while search.ask is not None:
        ask = search.ask
        asks.append(ask)
        search.tell(
            [
                Sample(
                    arm,
                    tuple(1e9 * (1 + spread(arm.to_json()) * rng.standard_normal(ask.runs)) for _ in range(ask.loops)),
                )
                for arm in ask.arms
            ]
        )
    return search.choice, asks


def test_places_span_the_range_on_its_scale():
    whole = [
        place.to_json()["interval"]
        for place in places(space("interval=1..1000:log:whole").factors[0], space("interval=1..1000:log:whole"))
    ]
    assert whole == [1, 2, 6, 13, 32, 75, 178, 422, 1000]
    few = space("nice=0..3:whole")
    assert [place.to_json()["nice"] for place in places(few.factors[0], few)] == [0, 1, 2, 3]
    choices = space("policy=other,batch")
    assert places(choices.factors[0], choices) == (Settings.of({"policy": "other"}), Settings.of({"policy": "batch"}))


def test_all_values_run_alongside_the_machine_as_it_is_and_the_steadiest_is_chosen():
    choice, asks = played(lambda values: 0.05 if not values else 0.04 - 0.03 * (values["interval"] == 178))
    assert choice.settings == Settings.of({"interval": 178})
    (ask,) = asks
    assert ask.arms[0] == NO_SETTINGS
    assert (len(ask.arms), ask.loops) == (10, MOST_LOOPS)


def test_where_no_value_helps_nothing_is_chosen():
    choice, _ = played(lambda values: 0.05 if values else 0.01)
    assert choice.settings == NO_SETTINGS
    assert "No value varies less" in choice.why


@pytest.mark.parametrize(("most", "loops"), [(1000, 12), (100, 2), (60, None)])
def test_a_limited_sweep_keeps_to_its_runs(most, loops):
    choice, asks = played(lambda _: 0.05, TrialDesign(1, 4, None, "cv", most_runs=most))
    assert [ask.loops for ask in asks] == ([] if loops is None else [loops])
    assert all(len(ask.arms) * (ask.loops * ask.runs + ask.warmups) <= most for ask in asks)
    if loops is None:
        assert "too little time for a sweep" in choice.why
