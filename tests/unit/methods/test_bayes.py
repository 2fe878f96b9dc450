"""Bayesian optimisation by Optuna: what it is fed, and what is said where it is missing."""

import sys

import numpy as np
import pytest

from becalm.errors import UsageError
from becalm.methods import check
from becalm.methods.bayes import BATCH, FIRST, bayes
from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun, TrialDesign
from becalm.nouns.factor import Factor
from becalm.nouns.options.tune import Allowed, TuneOptions
from becalm.nouns.search_space import Space

RULE = TrialDesign(loops=1, runs=1, warmups=0, objective="time")
SPACE = Space((), factors=(Factor("x", 0.0, 1000.0, whole=True), Factor("policy", choices=("other", "batch"))))


def conduct(seed=1, noise=0.01, failing=lambda values: False, rule=RULE):
    search, asks, rng = SearchRun(bayes, SPACE, rule, seed), [], np.random.default_rng(seed)
    while search.ask is not None:
        samples = []
        for arm in search.ask.arms:
            values = dict(arm.values)
            seconds = 0.7 + (values["x"] - 300) ** 2 / 1e6 + 0.1 * (values["policy"] == "batch") if values else 1.0
            time = np.array([1e9 * seconds * np.exp(noise * rng.standard_normal())])
            samples.append(Sample(arm, (time,), int(bool(values) and failing(values))))
        asks.append(search.ask)
        search.tell(samples)
    return asks, search.choice


def test_optuna_is_part_of_what_development_installs():
    import optuna

    assert optuna.__version__


def test_sixty_trials_in_blocks_with_the_default_and_the_best_again():
    asks, choice = conduct()
    assert sum(len(ask.arms) - 1 for ask in asks) <= 60
    assert len(asks[0].arms) == 1 + FIRST
    known = {*asks[0].arms}
    for ask in asks[1:]:
        assert ask.arms[0] == NO_SETTINGS
        assert ask.arms[1] in known
        assert len(ask.arms) <= 2 + BATCH
        known |= {*ask.arms}
    assert dict(choice.settings.values)["policy"] == "other"
    assert abs(dict(choice.settings.values)["x"] - 300) < 150


def test_failed_trials_are_told_as_failed_and_not_chosen():
    asks, choice = conduct(failing=lambda values: values["x"] < 500)
    assert dict(choice.settings.values)["x"] >= 500
    assert any(dict(arm.values).get("x", 999) < 500 for ask in asks for arm in ask.arms)


def test_without_optuna_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UsageError, match=r"needs Optuna, which is not installed: .* -m pip install optuna\. The other"):
        check(TuneOptions(method="bayes", minimize="time", allowed=Allowed(SPACE)))


def test_the_gaussian_process_needs_pytorch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match=r"needs PyTorch.*Or take --sampler tpe"):
        check(TuneOptions(method="bayes", minimize="time", sampler="gp", allowed=Allowed(SPACE)))
