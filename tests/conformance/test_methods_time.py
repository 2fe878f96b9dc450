"""What every method for run time promises, over the table of methods: one more row is one more run of these tests.

Spaces have factors here, ranges on both scales and choices; `test_methods.py` has those of candidates.
"""

import dataclasses

import numpy as np
import pytest

from becalm import methods
from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space

SLICE = Factor("slice_ns", 1e5, 1e8, "ns", Scale.LOG, True)
SWAP = Factor("swappiness", 0.0, 200.0, "", Scale.LINEAR, True)
PAGES = Factor("pages", choices=("always", "madvise", "never"))
DEFAULT = {"slice_ns": 1_400_000, "swappiness": 60, "pages": "always"}
MIXED = Space((), (), (), (SLICE, SWAP, PAGES))


@pytest.fixture(params=[row for row in methods.TABLE if "time" in row.minimizes], ids=lambda row: row.name)
def row(request):
    return request.param


def seconds(settings):
    """True mean time: best at a slice of 20 ms, a swappiness of 150 and no huge pages."""
    at = {**DEFAULT, **dict(settings.values)}
    slice_, swap = SLICE.coded(at["slice_ns"]), SWAP.coded(at["swappiness"])
    pages = {"always": 0.05, "madvise": 0.02, "never": 0.0}[at["pages"]]
    return 1 + 0.3 * (slice_ - SLICE.coded(2e7)) ** 2 + 0.1 * (swap - SWAP.coded(150)) ** 2 + pages


def answer(ask, rng, failing=lambda _: False, noise=0.01, seconds=seconds):
    samples = []
    for settings in ask.arms:
        loops = tuple(1e9 * seconds(settings) * (1 + noise * rng.standard_normal(ask.runs)) for _ in range(ask.loops))
        samples.append(Sample(settings, (), ask.runs) if failing(settings) else Sample(settings, loops))
    return samples


def conduct(row, space=MIXED, rule=None, seed=1, **world):
    """A whole search; returns it with its asks and samples."""
    rng = np.random.default_rng([seed, 2])
    search, asks, told = SearchRun(row.load(), space, rule or row.rule, seed), [], []
    while search.ask is not None:
        asks.append(search.ask)
        told.append(answer(search.ask, rng, **world))
        search.tell(told[-1])
        assert len(asks) < 1000
    return search, asks, told


def cost(asks):
    return sum(len(ask.arms) * (ask.loops * ask.runs + ask.warmups) for ask in asks)


def test_a_row_has_words_and_a_search_ends_with_a_reason(row):
    search, asks, _ = conduct(row)
    assert row.what
    assert search.choice.why.endswith(".")
    assert asks
    assert all(ask.why and ask.loops >= 1 and ask.runs >= 1 for ask in asks)
    assert all(len(set(ask.arms)) == len(ask.arms) for ask in asks)


def test_it_finds_settings_that_are_faster(row):
    space = Space((), (), (), (SLICE,))
    ratios = [seconds(conduct(row, space, seed=seed)[0].choice.settings) / seconds(NO_SETTINGS) for seed in range(5)]
    assert np.median(ratios) < 0.9


def test_the_same_seed_and_answers_give_the_same_search(row):
    one, two = conduct(row, seed=5), conduct(row, seed=5)
    assert (one[0].choice, one[1]) == (two[0].choice, two[1])


def test_a_search_goes_on_from_stored_samples_at_any_point(row):
    finished, asks, told = conduct(row, seed=3)
    for stop in range(len(asks)):
        again = SearchRun(row.load(), MIXED, row.rule, 3)
        for samples in told[:stop]:
            again.tell(samples)
        assert again.ask == asks[stop]
    again.tell(told[-1])
    assert again.choice == finished.choice


def test_values_are_those_of_the_factors(row):
    search, asks, _ = conduct(row)
    for settings in [search.choice.settings, *(arm for ask in asks for arm in (*ask.arms, ask.best))]:
        for name, value in settings.values:
            factor = next(each for each in MIXED.factors if each.name == name)
            if factor.categorical:
                assert value in factor.choices
            else:
                assert isinstance(value, int)
                assert factor.low <= value <= factor.high


def test_what_makes_the_program_fail_is_not_chosen(row):
    for seed in range(3):
        search, asks, told = conduct(row, seed=seed, failing=lambda s: dict(s.values).get("slice_ns", 0) > 1e7)
        bad = {sample.settings for samples in told for sample in samples if sample.failed}
        for settings in [search.choice.settings, *(ask.best for ask in asks)]:
            assert settings not in bad


def test_a_program_that_always_fails_leaves_the_machine_as_it_is(row):
    search, asks, _ = conduct(row, failing=lambda _: True)
    assert len(asks) < 200
    assert search.choice.settings == NO_SETTINGS


def test_one_failed_run_makes_a_failed_trial(row):
    rng, bad = np.random.default_rng(0), set()
    search = SearchRun(row.load(), MIXED, row.rule, 0)
    while search.ask is not None:
        samples = answer(search.ask, rng)
        for index, sample in enumerate(samples):
            if dict(sample.settings.values).get("slice_ns", 0) > 1e7:
                samples[index] = dataclasses.replace(sample, failed=1)
                bad.add(sample.settings)
        search.tell(samples)
    assert search.choice.settings not in bad


@pytest.mark.parametrize("most", [0, 1, 7, 10, 31, 64, 333])
def test_never_more_runs_than_allowed(row, most):
    search, asks, _ = conduct(row, rule=dataclasses.replace(row.rule, most_runs=most))
    assert cost(asks) <= most
    assert search.choice is not None


def test_a_space_without_factors_has_no_settings(row):
    search, asks, _ = conduct(row, Space(()))
    assert search.choice.settings == NO_SETTINGS
    assert cost(asks) <= 2 * row.rule.cost


def test_a_response_that_nothing_changes_is_no_trouble(row):
    search, _, _ = conduct(row, noise=0.0, seconds=lambda _: 1.0)
    assert search.choice.settings == NO_SETTINGS


def test_noise_above_any_effect_does_no_harm(row):
    # What it chooses is put to the test afterwards; that it ends, with a reason, is what is asked here.
    search, _, _ = conduct(row, noise=0.2, seconds=lambda _: 1.0)
    assert search.choice.why.endswith(".")


def test_a_limit_on_one_trial_is_heeded(row):
    rule = dataclasses.replace(row.rule, loops=2, runs=3, warmups=1)
    _, asks, _ = conduct(row, Space((), (), (), (SLICE,)), rule)
    assert {ask.runs for ask in asks} == {3}
    assert all(ask.loops % 2 == 0 for ask in asks)
