"""Particle swarm: one step by hand, its size, and what noise does to its memory."""

import numpy as np
import pytest

from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun, TrialDesign
from becalm.methods.swarm import advance, swarm
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space
from becalm.nouns.swarm import SwarmParameters

RULE = TrialDesign(loops=1, runs=1, warmups=0, objective="time")
SPACE = Space((), factors=(Factor("x", 0.0, 1000.0, whole=True), Factor("y", 0.0, 1000.0, whole=True)))


def conduct(seconds, noise=0.0, rule=RULE, seed=1, space=SPACE, **own):
    def method(*arguments):
        return swarm(*arguments, **own)

    rng, asks = np.random.default_rng(seed), []
    search = SearchRun(method, space, rule, seed)
    while search.ask is not None:
        asks.append(search.ask)
        search.tell(
            [
                Sample(arm, tuple(1e9 * seconds(arm) * np.exp(noise * rng.standard_normal(search.ask.runs))
                                  for _ in range(search.ask.loops)))
                for arm in search.ask.arms
            ]
        )  # fmt: skip
    return asks, search.choice


def bowl(arm):
    if not arm.values:
        return 1.0
    values = dict(arm.values)
    return 0.7 + 0.5 * ((values["x"] - 300) ** 2 + (values["y"] - 800) ** 2) / 1e6


def test_one_step_by_hand():
    parameters = SwarmParameters(omega=0.5, phi_p=2.0, phi_g=1.0)
    at, velocity = np.array([[0.1, -0.2]]), np.array([[0.2, 0.4]])
    own, best = np.array([[0.3, -0.2]]), np.array([[-0.5, 0.8]])
    draws = np.array([[0.5, 0.25]]), np.array([[0.1, 0.9]])
    to, by = advance(at, velocity, own, best, parameters, draws)
    # x: 0.5 * 0.2 + 2 * 0.5 * 0.2 + 1 * 0.1 * -0.6 = 0.24; y: 0.5 * 0.4 + 0 + 1 * 0.9 * 1.0 = 1.1.
    assert to == pytest.approx(np.array([[0.34, 0.9]]))
    assert by == pytest.approx(np.array([[0.24, 1.1]]))


def test_a_place_stays_within_the_space_and_its_velocity_is_what_it_moved_by():
    at, far = np.array([[0.9, -0.9]]), np.array([[3.0, -3.0]])
    ones = np.ones((1, 2))
    to, by = advance(at, far, at, at, SwarmParameters(omega=1.0), (ones, ones))
    assert to == pytest.approx(np.array([[1.0, -1.0]]))
    assert by == pytest.approx(np.array([[0.1, -0.1]]))


def test_sixty_trials_and_a_control_in_each_block():
    asks, choice = conduct(bowl, noise=0.01)
    assert sum(len(ask.arms) - 1 for ask in asks) <= 60
    assert all(ask.arms[0] == NO_SETTINGS for ask in asks)
    assert bowl(choice.settings) < 0.75
    assert "60 trials" in choice.why or "particles" in choice.why


def test_the_published_size_when_there_are_trials_for_it():
    parameters = SwarmParameters(evaluations=700)
    asks, choice = conduct(bowl, parameters=parameters, noise=0.01)
    assert len(asks[0].arms) == 21
    assert sum("step" in ask.why for ask in asks) <= 29
    assert "swarm of 20 particles" in choice.why


def test_the_best_places_are_measured_again():
    asks, _ = conduct(bowl, noise=0.05)
    known = {*asks[0].arms}
    for ask in asks[1:]:
        assert known.issuperset(ask.arms[:3])
        known |= {*ask.arms}


def test_one_lucky_run_is_found_out():
    lucky = []

    def seconds(arm):
        # The first place that is measured looks three times as fast, once.
        if arm.values and not lucky:
            lucky.append(arm)
            return 0.3
        return bowl(arm) if arm.values else 1.0

    asks, choice = conduct(seconds, noise=0.02)
    assert sum(lucky[0] in ask.arms for ask in asks) > 1
    assert choice.settings != lucky[0] or bowl(lucky[0]) < 0.8


def test_a_swarm_that_has_come_together_is_done():
    few = Space((), factors=(Factor("x", 0.0, 1.0, whole=True),))
    asks, _ = conduct(lambda arm: {None: 1.0, 0: 0.9, 1: 1.2}[dict(arm.values).get("x")], space=few)
    assert sum(len(ask.arms) - 1 for ask in asks) < 60


def test_more_runs_than_the_rule_allows_are_not_planned_for():
    asks, _ = conduct(bowl, rule=TrialDesign(loops=1, runs=1, warmups=0, objective="time", most_runs=33))
    assert sum(len(ask.arms) for ask in asks) <= 33
    assert len(asks[0].arms) == 1 + 6
