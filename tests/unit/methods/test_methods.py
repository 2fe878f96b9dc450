"""The table of methods, and what of the options of a search follows from it."""

import re
from dataclasses import replace

import pytest

from becalm.errors import UsageError
from becalm.methods import TABLE, MethodRow, check, complete, method, search_methods, trial_design
from becalm.methods.protocol import SearchRun, TrialDesign
from becalm.nouns.factor import Factor
from becalm.nouns.objective import find, goals
from becalm.nouns.option import options
from becalm.nouns.options.tune import Allowed, TuneOptions
from becalm.nouns.search_space import Space
from becalm.nouns.swarm import SwarmParameters


def test_every_method_says_what_it_can_make_small():
    assert search_methods() == TABLE
    for row in TABLE:
        assert row.minimizes
        assert set(row.minimizes) <= set(goals())


def test_the_help_of_method_lists_every_method():
    text = options(TuneOptions)["method"].help
    assert re.findall(r"\w+", text.partition(":")[2].replace(" or ", " ")) == [row.name for row in TABLE]


def test_variation_is_minimised_by_default():
    assert complete(TuneOptions()).minimize == "spread"
    assert find(trial_design(TuneOptions(objective="mad")).objective).minimizes == "spread"
    assert trial_design(TuneOptions(objective="mad")).objective == "mad"


def test_a_method_that_cannot_minimise_what_is_asked_is_refused():
    with pytest.raises(UsageError, match=r"race minimizes spread, not time\. Methods that do: .*swarm, golden"):
        complete(TuneOptions(method="race", minimize="time"))
    with pytest.raises(UsageError, match="--minimize is one of spread, time, metric, not 'speed'"):
        TuneOptions.of({"minimize": "speed"})


def test_one_that_can_gets_the_objective_of_the_goal(monkeypatch):
    monkeypatch.setattr("becalm.methods.TABLE", (*TABLE, MethodRow("x", "m", "f", "", TrialDesign(), ("time",))))
    assert complete(TuneOptions(method="x", minimize="time")).objective == "time"
    with pytest.raises(UsageError, match=r"Methods that do: .*x"):
        complete(TuneOptions(method="race", minimize="time"))


def test_an_option_of_one_method_reaches_it_and_is_refused_by_others():
    space = Space((), factors=(Factor("one", 1.0, 100.0, whole=True), Factor("two", 1.0, 100.0, whole=True)))
    options = TuneOptions(method="golden", minimize="time", path="two", allowed=Allowed(space))
    check(options)
    search = SearchRun(method("golden").load(options), space, trial_design(options), 0)
    assert {knob for arm in search.ask.arms for knob, _ in arm.values} == {"two"}
    with pytest.raises(UsageError, match="--path is for --method golden, not for swarm"):
        complete(replace(options, method="swarm"))
    with pytest.raises(UsageError, match="--swarm is for --method swarm, not for golden"):
        complete(replace(options, swarm=SwarmParameters(omega=0.1)))


def test_a_method_that_cannot_begin_in_a_space_says_so_before_anything_is_measured():
    space = Space((), factors=(Factor("one", 1.0, 100.0), Factor("two", 1.0, 100.0)))
    with pytest.raises(UsageError, match="searches along one line, and there are 2 factors"):
        check(TuneOptions(method="golden", minimize="time", allowed=Allowed(space)))
