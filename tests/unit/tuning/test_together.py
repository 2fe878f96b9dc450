"""Settings that do the same: what leaving out one by one does not show, and what leaving them out together does."""

import numpy as np
import pytest
from tests.unit.tuning.course import World, space
from tests.unit.tuning.test_phases import chooses, conduct

from becalm.hosts.simulated import machine
from becalm.methods.protocol import NO_SETTINGS, Choice, Sample
from becalm.nouns.knob import knobs_by_name
from becalm.nouns.search_space import Candidate, Group, Space
from becalm.nouns.settings import Settings

PAIRS = (("pstate_driver", "turbo"), ("isolation", "online_cpus"))
"""Pairs in the order of settings."""
CHOSEN = ("nice", *(knob for pair in PAIRS for knob in pair))
WHY = "fresh runs without several settings at once, which may have the same effect"


class Twins(World):
    """The simulated machine `twins`: of each of two pairs one setting does all that both do."""

    def __init__(self, seed):
        super().__init__(seed=seed)
        self.machine = machine.read(machine.SHIPPED / "twins.toml")

    def sample(self, settings, ask, rng):
        state = self.machine.state(settings)
        loops = tuple(state.time * self.loop(state.spread, ask.runs, rng) for _ in range(ask.loops))
        return Sample(settings, loops)


def values(*names):
    return {name: knobs_by_name()[name].tuned_value for name in names}


def twins():
    return Space(tuple(Candidate(name, value, Group.NORMAL) for name, value in values(*CHOSEN).items()))


def chooses_all(space, rule, rng):
    return Choice(Settings.of(values(*CHOSEN)), "Because.")
    yield


def effects(tuned):
    return {contribution.knob: contribution for contribution in tuned.judged.contributions}


@pytest.mark.parametrize("seed", range(3))
def test_two_that_do_the_same_are_left_out_together_and_what_both_cost_is_known(seed):
    tuned, wishes, _ = conduct(Twins(seed), twins(), chooses_all)
    by_knob, (clock, confine) = effects(tuned), (" and ".join(pair) for pair in PAIRS)
    assert sum(wish.ask.why == WHY for wish in wishes) >= 1
    for pair in PAIRS:
        assert not any(by_knob[knob].ratio.low > 2 for knob in pair), "one of them does all"
    assert by_knob[clock].ratio.low > 1.5
    assert by_knob[confine].ratio.low > 1.5
    assert 0.2 < by_knob[clock].cost.low <= by_knob[clock].cost.high < 0.34
    assert abs(by_knob[confine].cost.value) < 0.02
    assert set(by_knob) == {*CHOSEN, clock, confine}
    recommended = set(dict(tuned.judged.settings.values))
    assert "nice" in recommended
    assert all(recommended.intersection(pair) for pair in PAIRS)


def test_those_that_no_family_names_are_found_by_halves():
    world = World({"a": 0.2, "b": 0.2, "z": 0.5}, instead=("a", "b"))
    names = ("a", "b", "c", "d", "z")
    tuned, _, _ = conduct(world, space(*names), chooses(*names), confirm_loops=30)
    assert set(effects(tuned)) == {*names, "a and b"}
    assert effects(tuned)["a and b"].ratio.low > 2


def test_where_each_accounts_for_its_share_nothing_is_left_out_together():
    world = World({"a": 0.25, "b": 0.4})
    tuned, wishes, _ = conduct(world, space("a", "b", "c"), chooses("a", "b", "c"), confirm_loops=30)
    assert all(wish.ask.why != WHY for wish in wishes)
    assert set(effects(tuned)) == {"a", "b", "c"}


def test_without_time_for_it_nothing_is_left_out_together():
    _, wishes, _ = conduct(Twins(1), twins(), chooses_all, budget_ns=10**9)
    assert all(wish.ask.why != WHY for wish in wishes)


def test_a_group_is_compared_with_what_was_chosen_in_the_same_loops():
    _, wishes, _ = conduct(Twins(1), twins(), chooses_all)
    for wish in wishes:
        if wish.ask.why == WHY:
            baseline, chosen, *groups = wish.ask.arms
            assert (baseline, chosen) == (NO_SETTINGS, Settings.of(values(*CHOSEN)))
            assert all(len(group.values) <= len(chosen.values) - 2 for group in groups)
            assert len(set(groups)) == len(groups)


def test_the_machine_has_two_pairs_of_which_one_does_all():
    model = machine.read(machine.SHIPPED / "twins.toml")
    for pair, rest in (PAIRS, PAIRS[::-1]):
        both, single, other, neither = (
            model.state(Settings.of(values("nice", *rest, *mine))) for mine in (pair, pair[:1], pair[1:], ())
        )
        assert np.allclose([single.spread, other.spread], both.spread)
        assert neither.spread > 2 * both.spread
        assert single.time == other.time == both.time


class Slow(World):
    """A world in which each setting helps, and makes the program slower by a fifth; together no slower than one."""

    def sample(self, settings, ask, rng):
        time = 1.2e9 if settings.values else 1e9
        spread = 0.05 * 0.5 ** len(settings.values)
        return Sample(settings, tuple(time * self.loop(spread, ask.runs, rng) for _ in range(ask.loops)))


def test_each_setting_is_measured_alone_where_leaving_it_out_does_not_tell():
    tuned, wishes, _ = conduct(Slow(seed=1), space("a", "b", "c"), chooses("a", "b", "c"))
    assert sum("each setting alone" in wish.ask.why for wish in wishes) == 1
    for knob in ("a", "b", "c"):
        effect = effects(tuned)[knob]
        assert abs(effect.cost.value) < 0.02, "without it the program is as slow"
        assert effect.alone.low < 0.2 < effect.alone.high
        assert effect.alone.low > 0.15


def test_where_leaving_out_tells_the_cost_nothing_is_measured_alone():
    _, wishes, _ = conduct(Twins(1), twins(), chooses_all)
    assert all("each setting alone" not in wish.ask.why for wish in wishes)
