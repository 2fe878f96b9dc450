"""Signatures of public functions: type checkers, help and options agree."""

import inspect
from typing import get_type_hints

import pytest

import becalm
from becalm.nouns import keywords as noun_keywords
from becalm.nouns.demand import Demand
from becalm.nouns.metric import Response, Work
from becalm.nouns.option import options
from becalm.nouns.options.bisect import BisectOptions
from becalm.nouns.options.check import CheckOptions
from becalm.nouns.options.compare_stored import CompareStoredOptions
from becalm.nouns.options.corun import CoRunOptions
from becalm.nouns.options.design import DesignOptions, FitOptions, SwarmDesignOptions
from becalm.nouns.options.layouts import LayoutOptions
from becalm.nouns.options.load_experiment import LoadExperimentOptions
from becalm.nouns.options.mcp import McpOptions
from becalm.nouns.options.measuring import ComparedPrograms, CompareOptions, RunOptions
from becalm.nouns.options.place import PlaceOptions
from becalm.nouns.options.record import HistoryPlaceOptions, RangeOptions, RecordOptions
from becalm.nouns.options.suite import SuiteOptions, SuiteParts
from becalm.nouns.options.survey import SurveyOptions
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.options.tune_table import TuneTableOptions
from becalm.nouns.options.watch import WatchReference
from becalm.nouns.workload import CommandLine, Workload
from becalm.study.session_options import SessionOptions, SeveralHosts, WithProfile
from becalm.verbs import keywords as verb_keywords
from becalm.verbs.mcp import WITHOUT
from becalm.verbs.tune_programs import UNUSED

PROGRAM = (CommandLine, Workload)
HISTORY = (RecordOptions, HistoryPlaceOptions)
MEASURED = (Response, Work, WithProfile, SessionOptions, *PROGRAM)
ONE_SESSION = ("directory", "commit", "name_baseline", "host")
VERBS = [
    (becalm.run, (RunOptions, *MEASURED), ()),
    (becalm.compare, (CompareOptions, ComparedPrograms, *MEASURED), ("name",)),
    (becalm.check, (CheckOptions, *MEASURED), ("name",)),
    (becalm.compare_stored, (CompareStoredOptions,), ()),
    (becalm.compare_layouts, (LayoutOptions, *MEASURED), ("name", "precision")),
    (becalm.tune, (TuneOptions, Response, Work, SessionOptions, *PROGRAM), ("settings",)),
    (becalm.tune_cost, (TuneOptions, Response, Work, SessionOptions, *PROGRAM), ("settings", "store")),
    (becalm.tune_programs, (CompareOptions, ComparedPrograms, *MEASURED), ("name", *UNUSED)),
    (becalm.tune_table, (TuneTableOptions,), ()),
    (becalm.corun, (CoRunOptions, SessionOptions, *PROGRAM), ("alongside", "alongside_cpus", "name")),
    (becalm.survey, (SurveyOptions, SessionOptions, *PROGRAM), ("host",)),
    (becalm.suite, (SuiteParts, SuiteOptions, Response, WithProfile, SessionOptions, *PROGRAM), ("name",)),
    (becalm.watch, (WatchReference, WithProfile, SessionOptions, *PROGRAM), ()),
    (becalm.record, (*HISTORY, Response, WithProfile, SessionOptions, *PROGRAM), ("name",)),
    (
        becalm.record_commits,
        (*HISTORY, RangeOptions, Response, WithProfile, SessionOptions, *PROGRAM),
        ("name", *ONE_SESSION),
    ),
    (becalm.bisect, (BisectOptions, Response, WithProfile, SessionOptions, *PROGRAM), ("name", "directory")),
    (becalm.load_experiment, (LoadExperimentOptions, SessionOptions, *PROGRAM), ()),
    (becalm.make_load, (Demand,), ()),
    (becalm.place, (PlaceOptions,), ()),
    (becalm.simulate_placement, (PlaceOptions,), ("method",)),
    (becalm.design, (DesignOptions,), ()),
    (becalm.design_swarm, (SwarmDesignOptions,), ()),
    (becalm.fit_design, (FitOptions,), ()),
    (becalm.serve_mcp, (McpOptions, SessionOptions), WITHOUT),
]
"""The functions, with the classes of their options, and the options of these that they do not have: what cannot hold
for all programs, or is the function's own."""
IDS = [function.__name__ for function, _, _ in VERBS]
OWN = {"commits"}
"""Options that are parameters of their function."""


def options_by_keyword(kinds):
    """Return the options of some values, by keyword; of two with one name the first."""
    result = {}
    for kind in kinds:
        for name, option in options(kind).items():
            result.setdefault(name, option)
    return result


def keywords_of(function):
    """Return the TypedDict of a public function."""
    return getattr(verb_keywords, "".join(map(str.capitalize, function.__name__.split("_"))) + "Keywords")


def test_every_function_with_options_is_looked_at():
    public = [getattr(becalm, name) for name in becalm.__all__]
    assert {item for item in public if hasattr(item, "option_kinds")} == {function for function, _, _ in VERBS}


@pytest.mark.parametrize(("function", "kinds", "without"), VERBS, ids=IDS)
def test_type_checkers_see_every_option_with_its_type(function, kinds, without):
    typed, known = get_type_hints(keywords_of(function)), options_by_keyword(kinds)
    assert set(typed) == set(known) - set(without) - OWN
    for name, annotation in typed.items():
        assert annotation == known[name].annotation, name


@pytest.mark.parametrize(
    ("keywords", "kinds"), [(noun_keywords.ProgramKeywords, PROGRAM), (noun_keywords.DemandKeywords, (Demand,))]
)
def test_type_checkers_see_every_option_of_a_noun(keywords, kinds):
    known = options_by_keyword(kinds)
    assert get_type_hints(keywords) == {name: option.annotation for name, option in known.items()}


@pytest.mark.parametrize(("function", "kinds", "without"), VERBS, ids=IDS)
def test_signature_and_help_list_every_option_with_type_unit_and_default(function, kinds, without):
    signature, text = inspect.signature(function), inspect.getdoc(function)
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())
    known = options_by_keyword(kinds)
    assert set(without) <= set(known)
    assert not set(without) & set(signature.parameters)
    for name in known.keys() - set(without) - OWN:
        option, shown = known[name], signature.parameters[name]
        assert shown.kind is shown.KEYWORD_ONLY
        assert shown.annotation == option.annotation
        assert f"    {name}: " in text
        assert option.help.split()[0] in text
        if option.unit:
            assert option.unit in text
    assert "Options:" in text


def test_several_hosts_are_in_the_signature():
    for function in (becalm.run, becalm.compare, becalm.tune):
        assert set(options(SeveralHosts)) <= set(inspect.signature(function).parameters)


def test_units_and_defaults_are_reported():
    text = inspect.getdoc(becalm.compare)
    assert "budget: Time budget: 30s, 2min, none. [seconds, default 30s]" in text
    assert "confidence: Confidence of all intervals together. [fraction, default 95%]" in text
    assert inspect.signature(becalm.watch).parameters["output"].default == "inherit"
