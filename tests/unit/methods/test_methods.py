"""The table of methods, and what of the options of a search follows from it."""

import pytest

from becalm.errors import UsageError
from becalm.methods import TABLE, Row, complete, search_methods, trial_design
from becalm.methods.protocol import TrialDesign
from becalm.nouns.objective import find, goals
from becalm.nouns.options.tune import TuneOptions


def test_every_method_says_what_it_can_make_small():
    assert search_methods() == TABLE
    for row in TABLE:
        assert row.minimizes
        assert set(row.minimizes) <= set(goals())


def test_variation_is_what_is_made_small_when_nothing_is_said():
    assert complete(TuneOptions()).minimize == "spread"
    assert find(trial_design(TuneOptions(objective="mad")).objective).minimizes == "spread"
    assert trial_design(TuneOptions(objective="mad")).objective == "mad"


def test_a_method_that_cannot_minimise_what_is_asked_is_refused():
    with pytest.raises(UsageError, match=r"race minimizes spread, not time\. No method does yet"):
        complete(TuneOptions(minimize="time"))
    with pytest.raises(UsageError, match="--minimize is one of spread, time, not 'speed'"):
        TuneOptions.of({"minimize": "speed"})


def test_one_that_can_gets_the_objective_of_the_goal(monkeypatch):
    monkeypatch.setattr("becalm.methods.TABLE", (*TABLE, Row("x", "m", "f", "", TrialDesign(), ("time",))))
    assert complete(TuneOptions(method="x", minimize="time")).objective == "time"
    with pytest.raises(UsageError, match="Methods that do: x"):
        complete(TuneOptions(minimize="time"))
