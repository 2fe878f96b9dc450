"""A swarm's parameters by a designed experiment: the design, its response, and what is better than what."""

import numpy as np
import pytest

from becalm.hosts.simulated.responses import model
from becalm.nouns.swarm import SwarmParameters
from becalm.tuning.swarm_design import FACTORS, RESPONSE, Searching, better, conduct, fill_design, losses


def searching(searches=2):
    return Searching(lambda seed: model("bowl", 2, seed), 0.01, 30, searches)


def test_the_design_is_the_published_one():
    sheet = fill_design(searching(), 3)
    assert sheet.factors == FACTORS
    places = {tuple(round(float(f.natural(at)), 6) for f, at in zip(FACTORS, run, strict=True)) for run in sheet.coded}
    edges = {(0.0, 0.0, 2.0), (0.9, 4.0, 2.0), (0.45, 0.0, 4.0), (0.0, 2.0, 4.0)}
    assert len(sheet.coded) == 14
    assert len(places) == 13
    assert edges | {(0.45, 2.0, 2.0)} <= places
    assert len(sheet.responses[RESPONSE]) == 14
    assert fill_design(searching(), 3) == sheet


def test_the_response_is_what_is_missed_and_how_late():
    world = model("bowl", 2, 1)
    missed, late = conduct(SwarmParameters(evaluations=30), world, 0.0, 1)
    assert 0 <= missed < 0.3
    assert 0 < late <= 1
    # A swarm that does not move chooses the best of its first places.
    still, never = conduct(SwarmParameters(0.0, 0.0, 0.0, evaluations=30), world, 0.0, 1)
    assert still >= missed
    assert never >= late or still <= 0.2


def test_searches_are_on_the_same_models_whatever_the_parameters():
    seen = []

    def draw(seed):
        seen.append(seed)
        return model("bowl", 2, seed)

    for first in (10, 500):
        losses(SwarmParameters(evaluations=20), Searching(draw, 0.01, 20, 3), first)
    assert seen == [0, 1, 2, 0, 1, 2]


def test_better_is_by_two_standard_errors():
    usual = np.array([[0.2, 0.5], [0.3, 0.4], [0.1, 0.6]])
    assert better(usual - 0.1, usual)
    assert not better(usual, usual)
    assert not better(usual - np.array([[0.3], [-0.3], [0.05]]), usual)
    assert not better(usual[:1] - 0.1, usual[:1])


@pytest.mark.parametrize("omega", [0.0, 0.9])
def test_every_corner_of_the_design_searches(omega):
    table = losses(SwarmParameters(omega, 4.0, 4.0, evaluations=20), searching(), 0)
    assert table.shape == (2, 2)
    assert np.isfinite(table).all()
