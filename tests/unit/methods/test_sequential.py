"""The method `surface`, run by run: what it finds, in how many runs, and what it says."""

import numpy as np
import pytest
from tests.samples import samples

from becalm.hosts.simulated.responses import model
from becalm.methods import method
from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun, TrialDesign
from becalm.methods.sequential import MOST, sequential
from becalm.methods.surface_end import step_sentence, too_short, without_model
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space

RULE = method("surface").rule


def ranges(count):
    return tuple(Factor(f"f{index}", 1e5, 1e9, "ns", Scale.LOG, True) for index in range(count))


def conduct(factors, seconds, *, noise=0.02, seed=1, rule=RULE, drift=lambda block: 1.0):
    rng = np.random.default_rng([seed, 5])
    search, asks = SearchRun(sequential, Space((), factors=factors), rule, seed), []
    while (ask := search.ask) is not None:
        asks.append(ask)
        values = [drift(ask.block) * seconds(arm) * np.exp(noise * rng.standard_normal(ask.runs)) for arm in ask.arms]
        search.tell([Sample(settings, (value,)) for settings, value in zip(ask.arms, values, strict=True)])
    return search.choice, asks


def runs(asks):
    return sum(len(ask.arms) * ask.loops * ask.runs for ask in asks)


def on_line(factors, best, untouched=1.5):
    """Return a function that is 1 at a place, more with the squared distance, and has a time for the baseline."""

    def seconds(settings):
        at = dict(settings.values)
        away = [factor.coded(at[factor.name]) - best for factor in factors if factor.name in at]
        return 1 + 0.5 * float(np.mean(np.square(away))) if away else untouched

    return seconds


@pytest.mark.parametrize(("count", "most", "enough"), [(1, 16, 0.29), (2, 24, 0.29), (6, 56, 0.28)])
def test_a_bowl_is_found_in_all_of_its_factors(count, most, enough):
    gains = []
    for seed in range(samples(3, 15)):
        world = model("bowl", count, seed)
        choice, asks = conduct(world.space.factors, world.seconds, seed=seed)
        gains.append(world.gain(choice.settings))
        assert runs(asks) == most
    assert np.median(gains) > enough


def test_a_search_has_a_limit_of_its_own():
    factors = ranges(14)
    choice, asks = conduct(factors, on_line(factors, 0.2))
    assert runs(asks) == MOST
    assert len(choice.settings.values) == 14


def test_every_block_has_the_machine_as_it_is_and_drift_between_blocks_is_subtracted():
    factors = ranges(3)
    choice, asks = conduct(factors, on_line(factors, -0.3), noise=0.005, drift=lambda block: 1 + 0.1 * block)
    blocks = {ask.block for ask in asks}
    assert len(blocks) > 3
    assert {ask.block for ask in asks if NO_SETTINGS in ask.arms} == blocks
    assert "drift from block to block was subtracted" in choice.why
    assert on_line(factors, -0.3)(choice.settings) < 1.03
    steady, _ = conduct(factors, on_line(factors, -0.3), noise=0.005)
    assert "drift" not in steady.why


def test_the_best_place_is_run_again():
    factors = ranges(2)
    _, asks = conduct(factors, on_line(factors, 0.1))
    again = [ask for ask in asks if ask.why == "the best place again"]
    assert again
    assert all(arm == trial.best for trial in again for arm in trial.arms if arm != NO_SETTINGS)


def test_every_fourth_run_looks_for_a_second_valley_once_the_first_is_seen_and_before_the_end():
    world = model("two-optima", 3, 1)
    _, asks = conduct(world.space.factors, world.seconds)
    used, looked = 0, []
    for ask in asks:
        if ask.why == "where a second valley would be":
            looked.append(used)
        used += len(ask.arms)
    assert looked
    assert all(0.3 * used <= place + 1 and place <= 0.9 * used for place in looked)
    assert len(looked) == pytest.approx(0.6 * used / 4, abs=1.5)


def test_factors_that_matter_are_named():
    factors = ranges(5)
    two = factors[1:3]
    choice, _ = conduct(factors, on_line(two, 0.0), noise=0.005)
    assert "depends most on" in choice.why
    named = choice.why.partition(", according to a surface")[0]
    assert "f1" in named
    assert "f2" in named
    assert "f0" not in named


def test_a_step_is_reported_with_its_place_and_size():
    factors = ranges(2)

    def cliff(settings):
        at = dict(settings.values)
        slow = at and factors[1].coded(at["f1"]) > 0.2
        return on_line(factors[:1], 0.2, 1.3)(settings) * (1.5 if slow else 1.0)

    # One search may miss it, and which one that is depends on the last digits of the machine's linear algebra.
    missed = []
    for seed in range(6):
        choice, asks = conduct(factors, cliff, noise=0.005, seed=seed)
        reason = choice.why.partition("The surface has a step in f1 between ")[2]
        if not reason:
            missed.append(choice.why)
            continue
        size = float(reason.partition("above it, runs are ")[2].partition(" % slower")[0])
        assert 35 < size < 65
        places = sorted({factors[1].coded(dict(arm.values)["f1"]) for ask in asks for arm in ask.arms if arm.values})
        low = max(place for place in places if place <= 0.2)
        high = min(place for place in places if place > 0.2)
        shown = f"{factors[1].worded(factors[1].natural(low))} and {factors[1].worded(factors[1].natural(high))}:"
        assert reason.startswith(shown)
    assert len(missed) <= 2, missed
    assert "step" not in conduct(factors, on_line(factors, 0.2), noise=0.005)[0].why


def test_a_step_of_responses_below_zero_has_no_share():
    factor = Factor("f", 0.0, 1.0)
    assert step_sentence(factor, 0.0, [-1.0, -0.5, 0.5], -0.3, share=False) == (
        " The surface has a step in f between 0.25 and 0.75: below it, the value is higher."
    )


def test_an_optimum_at_the_border_is_reported():
    factors = ranges(2)
    choice, _ = conduct(factors, on_line(factors, -2.0, 2.5))
    assert "lies at the end of the range of f0, f1: beyond it there may be a better one." in choice.why


def test_a_place_among_choices():
    factors = (*ranges(1), Factor("pages", choices=("always", "madvise", "never")))
    cost = {"always": 0.3, "madvise": 0.2, "never": 0.0}

    def seconds(settings):
        return on_line(factors[:1], 0.2)(settings) + cost[dict(settings.values).get("pages", "always")]

    assert dict(conduct(factors, seconds)[0].settings.values)["pages"] == "never"


def test_nothing_found_says_what_would_have_been_seen():
    choice, _ = conduct(ranges(3), lambda settings: 1.0 + 0.1 * bool(settings.values))
    assert choice.settings == NO_SETTINGS
    assert "% would have been seen" in choice.why
    shown = float(choice.why.partition("; a difference of ")[2].partition(" %")[0])
    assert 0.5 < shown < 20


def test_one_value_where_combinations_failed_is_not_taken_for_no_effect():
    reason = without_model([1.5, 1.5, 1.5], 6, 3, varied=True)
    assert reason.startswith("All 3 successful runs gave the same value, and 3 of 6 combinations failed")
    assert "none of the varied settings changes it" not in reason


def test_a_constant_response_ends_the_search():
    choice, asks = conduct(ranges(2), lambda _: 1.0, noise=0.0)
    assert "gave the same value" in choice.why
    assert len(asks) == 1


def test_a_limit_below_the_first_design_is_reported():
    rule = TrialDesign(loops=1, runs=1, warmups=0, objective="time", most_runs=4)
    choice, asks = conduct(ranges(4), lambda _: 1.0, rule=rule)
    assert not asks
    assert "limit of 4 runs is too low" in choice.why
    assert "limit of 1 run is too low" in too_short(1)


def test_responses_below_zero_are_compared_as_they_are():
    factors = ranges(2)
    rng, search = np.random.default_rng(3), SearchRun(sequential, Space((), factors=factors), RULE, 3)
    while search.ask is not None:
        values = [on_line(factors, -0.2)(arm) - 1.3 + 0.01 * rng.standard_normal(1) for arm in search.ask.arms]
        search.tell([Sample(settings, (value,)) for settings, value in zip(search.ask.arms, values, strict=True)])
    assert on_line(factors, -0.2)(search.choice.settings) < 1.02
