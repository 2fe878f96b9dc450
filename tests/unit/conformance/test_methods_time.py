"""Promises of every method for run time, over the table of methods: one more row is one more run of these tests.

Spaces have factors here, ranges on both scales and choices; `test_methods.py` has those of candidates. Runs are those
of a model with a known optimum, on which all ranges have their best place on one line.
"""

import math

import numpy as np
import pytest
from msgspec import structs
from tests.samples import samples

from becalm import methods
from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.search_space import Space

SLICE = Factor("slice", 1e5, 1e8, "ns", Scale.LOG, whole=True)
BATCH = Factor("batch", 8.0, 264.0, whole=True)
POLICY = Factor("policy", choices=("other", "batch", "idle"))
WIDE = Space((), factors=(SLICE, POLICY, BATCH))
LINE = Space((), factors=(SLICE,))
BEST, GAIN = 0.4, 0.3


@pytest.fixture(params=[row for row in methods.TABLE if "time" in row.minimizes], ids=lambda row: row.name)
def row(request):
    return request.param


def began(row, space, seed=1, **rule):
    """Return a search at its beginning."""
    own = {"path": "diagonal"} if any(name == "path" for _, name in row.takes) else {}
    options = methods.complete(TuneOptions(method=row.name, minimize="time", **own))
    return SearchRun(row.load(options), space, structs.replace(methods.trial_design(options), **rule), seed)


def seconds(settings):
    """Return 1.0 for the default, and a bowl over each range whose bottom is at BEST; batch is good, idle is bad."""
    values, size = dict(settings.values), 1.0
    ranges = [entry for entry in (SLICE, BATCH) if entry.name in values]
    for factor in ranges:
        away = (factor.coded(values[factor.name]) - BEST) / (1 + BEST)
        size *= (1 - GAIN * (1 - 1.5 * away**2)) ** (1 / len(ranges))
    return size * {"batch": 0.95, "idle": 1.2}.get(values.get("policy"), 1.0)


def conduct(search, seconds=seconds, noise=0.01, drift=0.0, failing=lambda settings: False, seed=1):
    """Conduct a whole search; return it with its asks and the samples that it was told."""
    rng, asks, result, level = np.random.default_rng([seed, 2]), [], [], 0.0
    while search.ask is not None:
        ask, answers = search.ask, []
        shift = level + drift * np.cumsum(rng.standard_normal(ask.loops))
        level = shift[-1]
        for settings in ask.arms:
            errors = noise * rng.standard_normal((ask.loops, ask.runs))
            loops = tuple(1e9 * seconds(settings) * np.exp(s + e) for s, e in zip(shift, errors, strict=True))
            answers.append(Sample(settings, (), ask.runs) if failing(settings) else Sample(settings, loops))
        asks.append(ask)
        result.append(answers)
        search.tell(answers)
        assert len(asks) < 1000
    return search, asks, result


def cost(asks):
    return sum(len(ask.arms) * (ask.loops * ask.runs + ask.warmups) for ask in asks)


@pytest.mark.parametrize("space", [LINE, WIDE], ids=["line", "wide"])
def test_a_row_has_words_and_a_search_ends_with_a_reason(row, space):
    search, asks, _ = conduct(began(row, space))
    assert row.what
    assert search.choice.why.endswith(".")
    assert asks
    assert all(ask.why and ask.loops >= 1 and ask.runs >= 1 for ask in asks)
    assert all(len(set(ask.arms)) == len(ask.arms) for ask in asks)
    assert NO_SETTINGS in asks[0].arms


@pytest.mark.parametrize("space", [LINE, WIDE], ids=["line", "wide"])
@pytest.mark.parametrize("drift", [0.0, 0.1], ids=["steady", "drifting"])
def test_it_finds_what_is_faster_also_while_the_machine_drifts(row, space, drift):
    choices = [
        conduct(began(row, space, seed), drift=drift, seed=seed)[0].choice.settings for seed in range(samples(3, 15))
    ]
    assert np.median([seconds(settings) for settings in choices]) < 1 - 0.7 * GAIN


def test_the_same_seed_and_answers_give_the_same_search(row):
    first, second = conduct(began(row, WIDE, 5)), conduct(began(row, WIDE, 5))
    assert (first[0].choice, first[1]) == (second[0].choice, second[1])


def test_a_search_goes_on_from_stored_samples_at_any_point(row):
    finished, asks, result = conduct(began(row, WIDE, 3))
    again = began(row, WIDE, 3)
    for ask, answers in zip(asks, result, strict=True):
        assert again.ask == ask
        again.tell(answers)
    assert again.choice == finished.choice


def test_ended_at_any_point_it_chooses_what_it_has_measured_by_then(row):
    _, asks, result = conduct(began(row, WIDE, 3))
    for stop in range(0, len(asks), max(1, len(asks) // samples(3, 20))):
        search = began(row, WIDE, 3)
        for answers in result[:stop]:
            search.tell(answers)
        search.stop()
        assert search.ask is None
        assert search.choice.why.endswith(".")
        seen = {sample.settings for answers in result[:stop] for sample in answers}
        assert search.choice.settings in seen | {NO_SETTINGS}
    assert seconds(search.choice.settings) < 1


def test_values_are_those_of_the_space(row):
    search, asks, _ = conduct(began(row, WIDE))
    for settings in [search.choice.settings, *(arm for ask in asks for arm in (*ask.arms, ask.best))]:
        for knob, value in settings.values:
            factor = next(factor for factor in WIDE.factors if factor.name == knob)
            assert isinstance(value, str if factor.categorical else int)
            assert value in factor.choices if factor.categorical else factor.low <= value <= factor.high


def test_settings_that_make_the_program_fail_are_not_chosen(row):
    def failing(settings):
        values = dict(settings.values)
        return values.get("slice", 0) > 2e6 or values.get("policy") == "batch"

    for seed in range(samples(2, 10)):
        search, asks, result = conduct(began(row, WIDE, seed), failing=failing, seed=seed)
        bad = {sample.settings for answers in result for sample in answers if sample.failed}
        assert bad
        assert not {search.choice.settings, *(ask.best for ask in asks)} & bad
        assert all(math.isfinite(seconds(ask.best)) for ask in asks)


def test_a_program_that_always_fails_leaves_the_machine_as_it_is(row):
    search, asks, _ = conduct(began(row, WIDE), failing=lambda settings: True)
    assert len(asks) < 30
    assert search.choice.settings == NO_SETTINGS


def test_settings_that_all_fail_leave_the_machine_as_it_is(row):
    search, asks, _ = conduct(began(row, WIDE), failing=lambda settings: bool(settings.values))
    assert len(asks) < 100
    assert search.choice.settings == NO_SETTINGS


def test_one_failed_run_makes_a_failed_trial(row):
    search, bad = began(row, WIDE), set()
    rng = np.random.default_rng(0)
    while search.ask is not None:
        answers = []
        for settings in search.ask.arms:
            failed = int(dict(settings.values).get("slice", 0) > 3e6)
            loops = tuple(
                1e9 * seconds(settings) * (1 + 0.01 * rng.standard_normal(search.ask.runs))
                for _ in range(search.ask.loops)
            )
            answers.append(Sample(settings, loops, failed))
            bad |= {settings} if failed else set()
        search.tell(answers)
    assert bad
    assert search.choice.settings not in bad


@pytest.mark.parametrize("most", samples([0, 1, 10, 31, 100], [0, 1, 7, 10, 31, 64, 100, 333]))
def test_never_more_runs_than_allowed(row, most):
    search, asks, _ = conduct(began(row, WIDE, most_runs=most))
    assert cost(asks) <= most
    assert search.choice is not None


def test_an_empty_space_has_no_settings(row):
    search, asks, _ = conduct(began(row, Space(())))
    assert (search.choice.settings, asks) == (NO_SETTINGS, [])


def test_where_nothing_helps_nothing_that_harms_is_chosen(row):
    def worse(settings):
        return 1.0 if not settings.values else 1.1

    for seed in range(samples(2, 10)):
        assert conduct(began(row, WIDE, seed), worse, seed=seed)[0].choice.settings == NO_SETTINGS


def test_times_without_any_noise_are_no_trouble(row):
    search, _, _ = conduct(began(row, WIDE), noise=0.0)
    assert seconds(search.choice.settings) < 1
    flat, _, _ = conduct(began(row, WIDE), lambda settings: 1.0, noise=0.0)
    assert flat.choice.settings == NO_SETTINGS


def test_a_factor_of_two_values_and_one_of_choices_are_no_trouble(row):
    tiny = Space((), factors=(Factor("n", 0.0, 1.0, whole=True), POLICY))
    search, _, _ = conduct(began(row, tiny))
    assert search.choice is not None


def test_noise_above_any_effect_does_no_harm(row):
    # What it chooses is put to the test afterwards; that it ends, with a reason, is what is asked here.
    search, _, _ = conduct(began(row, WIDE), lambda settings: 1.0, noise=0.2)
    assert search.choice.why.endswith(".")


def test_the_numbers_of_a_trial_are_heeded(row):
    _, asks, _ = conduct(began(row, LINE, loops=2, runs=3, warmups=1))
    assert {(ask.runs, ask.warmups) for ask in asks} == {(3, 3)}
    assert all(ask.loops % 2 == 0 for ask in asks)


@pytest.mark.parametrize("most_runs", samples([None, 4, 11, 30], [None, 4, 5, 11, 12, 30]))
@pytest.mark.parametrize("space", [LINE, Space((), factors=(SLICE, BATCH)), WIDE], ids=["line", "ranges", "choices"])
def test_the_forecast_of_runs_matches_the_search(row, space, most_runs):
    """The forecast of a method counts its runs instead of playing them."""
    options = methods.complete(TuneOptions(method=row.name, minimize="time"))
    rule = structs.replace(methods.trial_design(options), most_runs=most_runs, runs=1, loops=1)
    counted = row.forecast(options, space, rule)
    if counted is None:
        assert not row.counts or any(factor.categorical for factor in space.factors), (
            "what follows from its rule is counted"
        )
        return
    played = []
    for seed in range(samples(3, 9)):
        _, asks, _ = conduct(began(row, space, seed, most_runs=most_runs), lambda _: 1.0, noise=0.02, seed=seed)
        played.append((cost(asks), sum(NO_SETTINGS in ask.arms for ask in asks)))
    if row.name == "surface":
        assert set(played) == {(counted.runs, counted.controls)}
    else:
        runs, controls = np.median(played, axis=0)
        assert counted.runs == pytest.approx(runs, rel=0.2, abs=2), "a swarm may settle, or end its final, earlier"
        assert counted.controls == pytest.approx(controls, rel=0.4, abs=2)
