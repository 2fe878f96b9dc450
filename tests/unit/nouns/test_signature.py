"""Signatures of public functions: type checkers, help and options agree."""

import inspect
from typing import get_type_hints

import pytest

import becalm
from becalm.nouns.demand import Demand, DemandKeywords
from becalm.nouns.metric import Response, Work
from becalm.nouns.option import options
from becalm.nouns.options.check import CheckOptions
from becalm.nouns.options.compare_stored import CompareStoredOptions
from becalm.nouns.options.corun import CoRunOptions
from becalm.nouns.options.design import DesignOptions, FitOptions
from becalm.nouns.options.layouts import LayoutOptions
from becalm.nouns.options.load_experiment import LoadExperimentOptions
from becalm.nouns.options.measuring import ComparedPrograms, CompareOptions, RunOptions
from becalm.nouns.options.suite import SuiteOptions, SuiteParts
from becalm.nouns.options.survey import SurveyOptions
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.options.watch import WatchReference
from becalm.nouns.workload import CommandLine, Workload
from becalm.study.session_options import MeasureKeywords, SessionOptions, SeveralHosts, WithProfile
from becalm.verbs.check import CheckKeywords
from becalm.verbs.compare import CompareKeywords
from becalm.verbs.compare_layouts import LayoutKeywords
from becalm.verbs.compare_stored import CompareStoredKeywords
from becalm.verbs.corun import CoRunKeywords
from becalm.verbs.design import DesignKeywords, FitKeywords
from becalm.verbs.load_experiment import LoadExperimentKeywords
from becalm.verbs.suite import SuiteKeywords
from becalm.verbs.survey import SurveyKeywords
from becalm.verbs.tune import TuneKeywords
from becalm.verbs.watch_run import WatchKeywords

PROGRAM = (CommandLine, Workload)
VERBS = [
    (becalm.run, MeasureKeywords, (RunOptions, Response, Work, WithProfile, SessionOptions, *PROGRAM)),
    (
        becalm.compare,
        CompareKeywords,
        (CompareOptions, ComparedPrograms, Response, Work, WithProfile, SessionOptions, *PROGRAM),
    ),
    (becalm.check, CheckKeywords, (CheckOptions, Response, Work, WithProfile, SessionOptions, *PROGRAM)),
    (becalm.compare_stored, CompareStoredKeywords, (CompareStoredOptions,)),
    (becalm.compare_layouts, LayoutKeywords, (LayoutOptions, Response, Work, WithProfile, SessionOptions, *PROGRAM)),
    (becalm.tune, TuneKeywords, (TuneOptions, Response, Work, SessionOptions, *PROGRAM)),
    (becalm.corun, CoRunKeywords, (CoRunOptions, SessionOptions, *PROGRAM)),
    (becalm.survey, SurveyKeywords, (SurveyOptions, SessionOptions, *PROGRAM)),
    (becalm.suite, SuiteKeywords, (SuiteParts, SuiteOptions, Response, WithProfile, SessionOptions, *PROGRAM)),
    (becalm.watch, WatchKeywords, (WatchReference, WithProfile, SessionOptions, *PROGRAM)),
    (becalm.load_experiment, LoadExperimentKeywords, (LoadExperimentOptions, SessionOptions, *PROGRAM)),
    (becalm.make_load, DemandKeywords, (Demand,)),
    (becalm.design, DesignKeywords, (DesignOptions,)),
    (becalm.fit_design, FitKeywords, (FitOptions,)),
]
OWN = {"resume"}
"""Keywords that are arguments of their function, and no option of a value."""


def options_by_keyword(kinds):
    """Return the options of some values, by keyword; of two with one name the first."""
    result = {}
    for kind in kinds:
        for name, option in options(kind).items():
            result.setdefault(name, option)
    return result


@pytest.mark.parametrize(("function", "keywords", "kinds"), VERBS)
def test_type_checkers_see_every_option_with_its_type(function, keywords, kinds):
    typed = {name: hint for name, hint in get_type_hints(keywords).items() if name not in OWN}
    known = options_by_keyword(kinds)
    assert set(typed) == set(known)
    for name, option in known.items():
        assert typed[name] == option.annotation, name


@pytest.mark.parametrize(("function", "keywords", "kinds"), VERBS)
def test_signature_and_help_list_every_option_with_type_unit_and_default(function, keywords, kinds):
    signature, text = inspect.signature(function), inspect.getdoc(function)
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())
    for name, option in options_by_keyword(kinds).items():
        if name not in signature.parameters:
            # What cannot hold for all programs, or is the function's own.
            assert name in ("name", "settings", "host", "alongside", "alongside_cpus", "precision"), name
            continue
        shown = signature.parameters[name]
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
