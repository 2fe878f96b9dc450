"""The race: its surface, its arms, what it spends, and where it gives up."""

import math

import numpy as np
import pytest
from msgspec import structs
from tests.samples import samples

from becalm.methods import method
from becalm.methods.arms import UNTOUCHED, Arms
from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun, TrialDesign
from becalm.methods.race import race
from becalm.methods.spread_surface import SpreadSurface
from becalm.nouns.search_space import Candidate, Group, Space
from becalm.nouns.settings import Settings

SPACE = Space(
    tuple(Candidate(f"{group}-{i}", "on", group, restricts_cpus=i == 0) for group in Group for i in range(5)),
    (("list", Settings.of({"normal-0": "on", "normal-1": "other", "elsewhere": 1})),),
)
RULE = method("race").rule
TENTH = structs.replace(RULE, most_runs=72)
"""Greedy: the start, isolation at least, ten normal and dangerous ones each, 60 runs a trial; a tenth of that."""


def conduct(spread, seed=0, rule=None, space=SPACE):
    """Conduct a whole race under normal noise; return choice, runs used and asks."""
    rng, search, asks = np.random.default_rng([seed, 1]), SearchRun(race, space, rule or RULE, seed), []
    while search.ask is not None:
        asks.append(search.ask)
        search.tell(
            [
                Sample(s, (1e9 * (1 + spread(dict(s.values)) * rng.standard_normal(search.ask.runs)),))
                for s in search.ask.arms
            ]
        )
    return search.choice, sum(len(ask.arms) * (ask.loops * ask.runs + ask.warmups) for ask in asks), asks


def sample(size, settings=NO_SETTINGS):
    return Sample(settings, (1e9 * (1 + size / math.sqrt(2) * np.array([1.0, -1.0])),))


def test_it_asks_for_at_most_a_tenth_of_the_runs_of_greedy_search():
    for seed in range(5):
        _, runs, _ = conduct(lambda s: 0.02 * 0.8 ** len(s), seed, TENTH)
        assert 40 <= runs <= 72


@pytest.mark.parametrize("most", [72, 150, 300])
def test_while_it_is_undecided_it_goes_on_until_the_runs_are_used(most):
    # All combinations do the same: which is best stays open for long.
    for seed in range(3):
        _, runs, _ = conduct(lambda s: 0.02 if not s else 0.001, seed, structs.replace(RULE, most_runs=most))
        assert most - 2 * RULE.cost < runs <= most


def test_a_decided_race_ends_however_many_runs_are_left():
    few = Space(SPACE.candidates[:2])
    for most in (None, 5000):
        rule = structs.replace(RULE, most_runs=most)
        runs = [conduct(lambda s: 0.001 if "essential-0" in s else 0.03, seed, rule, few)[1] for seed in range(5)]
        assert max(runs) <= 1000


def test_it_goes_on_while_a_combination_that_was_not_tried_may_be_better():
    """The best of what was tried is far ahead of all others of it, and lacks settings that would help."""
    harm = {"isolation-1": 0.012, "normal-2": 0.010, "normal-4": 0.006, "dangerous-0": 0.008}
    helping = [f"{group}-{i}" for group in ("essential", "normal") for i in range(5) if f"{group}-{i}" not in harm]

    def spread(s):
        helped = 0.02 * 0.5 ** sum(race in s for race in helping)
        return math.hypot(helped, 0.001, *(size for settings, size in harm.items() if settings in s))

    rule = structs.replace(RULE, most_runs=1000)
    races = [conduct(spread, seed, rule) for seed in range(samples(3, 5))]
    assert min(runs for _, runs, _ in races) > 300
    assert all(spread(choice.settings.to_json()) < 1.1 * spread(helping) for choice, _, _ in races)


def test_longer_trials_are_heeded_and_have_as_many_more_runs():
    rule = TrialDesign(loops=2, runs=9, warmups=1)
    _, runs, asks = conduct(lambda s: 0.02 * 0.8 ** len(s), 0, structs.replace(rule, most_runs=500))
    assert {ask.runs for ask in asks} == {9}
    assert {ask.warmups for ask in asks} == {9}
    assert {ask.loops for ask in asks} <= {2, 4}
    assert runs <= 500


def test_the_strongest_settings_are_tried_before_it_says_that_none_help():
    arms = Arms(SPACE, "cv")
    settings = [set(dict(arms.settings(arm).values)) for arm in arms.strongest()]
    assert settings == [{candidate.knob for candidate in SPACE.candidates}, {"normal-0"}]
    seen, races = 0, samples(15, 100)
    for seed in range(races):
        *_, asks = conduct(lambda s: 0.02, seed, structs.replace(RULE, most_runs=150))
        duels = [ask for ask in asks if ask.why.startswith("whether anything")]
        seen += len(duels)
        for ask in duels:
            against = [set(dict(arm.values)) for arm in ask.arms]
            assert against[0] == set()
            assert all(setting in against for setting in settings)
    assert seen >= races / 3


def test_where_nothing_helps_it_stops_early_or_keeps_the_machine_as_it_is():
    many = Space(SPACE.candidates + tuple(Candidate(f"more-{i}", 1, Group.NORMAL) for i in range(8)), SPACE.profiles)
    rule = structs.replace(RULE, most_runs=120)
    races = samples(25, 200)
    result = [conduct(lambda s: 0.02, seed, rule, space=many) for seed in range(races)]
    untouched = [runs for choice, runs, _ in result if choice.settings == NO_SETTINGS]
    assert len(untouched) >= 0.4 * races
    whys = [choice.why for choice, _, _ in result if choice.settings == NO_SETTINGS]
    assert all(("not even all settings together" in why) != ("more runs may show a difference" in why) for why in whys)
    assert sum("may be beyond these settings" in why for why in whys) >= 0.2 * races
    assert np.median(untouched) < 120


def test_a_single_harmful_setting_is_found_out():
    def spread(s):
        return math.hypot(0.02 * 0.75 ** len(s), 0.03 * ("normal-3" in s))

    ratios = [spread(dict(conduct(spread, seed)[0].settings.values)) / 0.02 for seed in range(samples(5, 30))]
    assert np.median(ratios) < 0.15


def test_among_equals_fewer_settings_are_preferred():
    def spread(s):
        return 0.001 if "essential-0" in s else 0.03

    def settings(resolution):
        return sum(
            len(conduct(spread, seed, structs.replace(TENTH, resolution=resolution))[0].settings.values)
            for seed in range(10)
        )

    assert settings(0.5) < settings(0.0)


def test_the_portfolio_has_nothing_everything_groups_and_profiles():
    arms = Arms(SPACE, "cv")
    settings = [set(dict(arms.settings(arm).values)) for arm in arms.portfolio()]
    every = {candidate.knob for candidate in SPACE.candidates}
    assert settings[:2] == [set(), every]
    assert {"normal-0"} in settings  # Of the profile, what the space has with the same value.
    for group in (Group.ISOLATION, Group.NORMAL, Group.DANGEROUS):
        assert {knob for knob in every if not knob.startswith(group)} in settings
    assert {candidate.knob for candidate in SPACE.candidates if not candidate.restricts_cpus} in settings


def test_after_a_failure_only_half_of_the_suspects_are_tried_at_once():
    arms = Arms(SPACE, "cv")
    arms.add(frozenset(range(8)), Sample(NO_SETTINGS, (), 4))
    arms.add(frozenset(range(4)), sample(0.01))
    assert not arms.hopeful(frozenset(range(8)))
    assert not arms.hopeful(frozenset({4, 5, 6, 15}))
    assert arms.hopeful(frozenset({0, 1, 4, 5, 15}))
    assert arms.failures == 1


def test_a_good_arm_that_fails_once_is_out():
    arms = Arms(SPACE, "cv")
    arms.add(UNTOUCHED, sample(0.01))
    arms.add(UNTOUCHED, Sample(NO_SETTINGS, (np.ones(3),), 1))
    arms.add(UNTOUCHED, sample(0.01))
    assert arms.tried == []


def test_runs_of_an_arm_count_together():
    arms = Arms(SPACE, "cv")
    arms.add(UNTOUCHED, sample(0.03))
    arms.add(UNTOUCHED, sample(0.04))
    assert arms.spread(UNTOUCHED) == pytest.approx(0.05 / math.sqrt(2))
    assert arms.freedom(UNTOUCHED) == 2
    assert arms.later_spread(UNTOUCHED) == pytest.approx((0.04, 1))
    arms.add(frozenset({1}), sample(0.01))
    assert arms.later_spread(frozenset({1})) == (0, 0)


def test_the_surface_recovers_effects_from_all_runs_at_once():
    rng = np.random.default_rng(3)
    effects = np.array([-1.0, 0.0, 0.7, 0.0, -0.5])
    x = rng.choice([-1.0, 1.0], (60, 5))
    spread = np.exp(x @ effects / 2) * np.sqrt(rng.chisquare(3, 60) / 3) * 0.01
    mean, _ = SpreadSurface.of(x, spread, np.full(60, 3.0)).predict(np.vstack([np.eye(5) * 2 - 1, -np.ones((1, 5))]))
    assert mean[:5] - mean[5] == pytest.approx(effects, abs=0.4)


def test_the_surface_is_sure_where_it_has_seen_and_unsure_elsewhere():
    x = np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]])
    surface = SpreadSurface.of(x, np.array([0.01, 0.02]), np.array([200.0, 200.0]))
    mean, covariance = surface.predict(np.vstack([x, [[1.0, -1.0, 1.0]]]))
    assert np.exp(mean[:2]) == pytest.approx([0.01, 0.02], rel=0.05)
    assert covariance[2, 2] > 10 * covariance[0, 0]
    assert np.exp(mean[2]) == pytest.approx(0.0126, rel=0.3)  # Two thirds of the way, in logarithms.


@pytest.mark.parametrize(("ratio", "sign"), [(1.0, -1), (20.0, 1)])
def test_evidence_is_for_effects_only_where_arms_differ(ratio, sign):
    choices = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = rng.choice([-1.0, 1.0], (12, 6))
        spread = 0.01 * np.where(x[:, 0] > 0, 1.0, ratio) * np.sqrt(rng.chisquare(6, 12) / 6)
        choices.append(sign * SpreadSurface.of(x, spread, np.full(12, 6.0)).evidence() > 0)
    assert np.mean(choices) >= 0.75


def test_effects_are_those_of_the_surface_and_uncertain_where_nothing_was_seen():
    rng = np.random.default_rng(5)
    truth = np.array([-1.0, 0.0, 0.7])
    x = rng.choice([-1.0, 1.0], (80, 4))
    x[:, 3] = -1.0
    spread = np.exp(x[:, :3] @ truth / 2) * np.sqrt(rng.chisquare(5, 80) / 5) * 0.01
    mean, covariance = SpreadSurface.of(x, spread, np.full(80, 5.0)).effects()
    assert mean[0] < -0.4 < 0.3 < mean[2]  # Drawn towards zero: a part may be no sum of effects.
    assert mean[[1, 3]] == pytest.approx([0.0, 0.0], abs=0.2)
    assert 0.0 < covariance[0, 0] < covariance[3, 3] / 2
    assert np.allclose(covariance, covariance.T)


def test_evidence_adds_up_over_all_arms_that_share_a_setting():
    # Two arms of three degrees of freedom say little; twenty of which half have the setting say it clearly.
    rng = np.random.default_rng(7)
    x = np.where(rng.random((20, 8)) < 0.5, 1.0, -1.0)
    spread = np.where(x[:, 2] > 0, 0.003, 0.01)
    few, all_ = (SpreadSurface.of(x[:n], spread[:n], np.full(n, 3.0)).evidence() for n in (3, 20))
    assert few < 0.5 < 1.5 < all_
