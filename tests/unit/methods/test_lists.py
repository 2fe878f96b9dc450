"""Known lists as candidates of any search, from its first round to its last."""

import numpy as np

from becalm.methods.lists import with_lists
from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, Sample, SearchRun, TrialDesign
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings

ONE, TWO, MINE = (Settings.of(values) for values in ({"a": 1}, {"b": 1}, {"c": 1}))
SPACE = Space((), profiles=(("one", ONE), ("two", TWO), ("none", NO_SETTINGS)))
RULE = TrialDesign(loops=1, runs=5, warmups=0, objective="cv")


def mine(space, rule, rng):
    """Measure the method's own settings once and choose them."""
    yield Ask((MINE,), rule.loops, rule.runs, 0, "mine")
    return Choice(MINE, "Because.")


def nothing(space, rule, rng):
    return Choice(NO_SETTINGS, "Nothing.")
    yield


def played(method, spreads, rule=RULE):
    """Play a search where each settings has a spread of its own; gives its choice and what it asked."""
    search, asks = SearchRun(with_lists(method), SPACE, rule, 1), []
    rng = np.random.default_rng(2)
    while search.ask is not None:
        ask = search.ask
        asks.append(ask)
        search.tell(
            [
                Sample(arm, tuple(1e9 * (1 + spreads[arm] * rng.standard_normal(ask.runs)) for _ in range(ask.loops)))
                for arm in ask.arms
            ]
        )
    return search.choice, asks


def test_the_best_list_is_chosen_where_it_varies_less():
    choice, asks = played(mine, {ONE: 0.05, TWO: 0.002, MINE: 0.03})
    assert choice.settings == TWO
    assert "the list of two varied less" in choice.why
    assert asks[0].arms == (ONE, TWO), "they come first"
    assert asks[-1].arms == (MINE, TWO)
    assert asks[-1].loops == 4


def test_the_choice_of_the_method_stays_where_it_varies_less():
    choice, _ = played(mine, {ONE: 0.05, TWO: 0.05, MINE: 0.002})
    assert choice == Choice(MINE, "Because.")


def test_where_the_method_chose_nothing_that_is_kept():
    choice, asks = played(nothing, {ONE: 0.05, TWO: 0.05})
    assert choice.settings == NO_SETTINGS
    assert len(asks) == 1


def test_the_runs_of_a_limited_search_are_kept_to():
    limited = TrialDesign(loops=1, runs=5, warmups=0, objective="cv", most_runs=200)
    _, asks = played(mine, {ONE: 0.05, TWO: 0.002, MINE: 0.03}, limited)
    assert sum(len(ask.arms) * (ask.loops * ask.runs + ask.warmups) for ask in asks) <= 200
    short = TrialDesign(loops=1, runs=5, warmups=0, objective="cv", most_runs=40)
    choice, asks = played(mine, {ONE: 0.05, TWO: 0.002, MINE: 0.03}, short)
    assert [ask.why for ask in asks] == ["mine"], "there is no room for the lists"
    assert choice.settings == MINE
