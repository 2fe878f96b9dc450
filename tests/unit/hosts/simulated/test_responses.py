"""Models of run time whose best place is known."""

import numpy as np
import pytest

from becalm.errors import UsageError
from becalm.hosts.simulated.responses import GAIN, MOST, RESPONSES, model
from becalm.nouns.settings import Settings


@pytest.mark.parametrize("row", RESPONSES, ids=lambda row: row.name)
@pytest.mark.parametrize("count", [1, 3, 12])
def test_the_default_takes_a_second_and_the_best_place_saves_the_stated_gain(row, count):
    for seed in range(5):
        world = model(row.name, count, seed)
        assert world.seconds(Settings()) == pytest.approx(1.0)
        assert world.at(world.default) == pytest.approx(1.0)
        places = np.random.default_rng(seed).uniform(-1, 1, (300, count))
        times = [world.at(at) for at in places]
        assert min(times) >= 1 - GAIN - 1e-9
        assert max(times) <= MOST
    assert row.what


def test_the_best_place_of_a_bowl_is_found_by_walking_down():
    world = model("bowl", 2, 4)
    grid = np.linspace(-1, 1, 201)
    assert min(world.at(np.array([x, y])) for x in grid for y in grid) == pytest.approx(1 - GAIN, abs=1e-3)


def test_a_cliff_is_a_step():
    world = model("cliff", 1, 3)
    times = np.array([world.at(np.array([x])) for x in np.linspace(-1, 1, 2001)])
    assert np.abs(np.diff(times)).max() > 0.05
    smooth = model("bowl", 1, 3)
    assert np.abs(np.diff([smooth.at(np.array([x])) for x in np.linspace(-1, 1, 2001)])).max() < 0.01


def test_factors_that_are_not_set_have_their_default():
    world = model("bowl", 3, 1)
    factor = world.space.factors[1]
    place = world.default.copy()
    place[1] = factor.coded(500)
    assert world.seconds(Settings.of({"f2": 500})) == pytest.approx(world.at(place))
    assert world.gain(Settings.of({"f2": 500})) == pytest.approx(1 - world.at(place))


def test_a_seed_gives_the_same_model_and_an_unknown_one_is_refused():
    at = np.array([0.1, 0.2])
    assert model("two-optima", 2, 7).at(at) == model("two-optima", 2, 7).at(at)
    assert model("two-optima", 2, 7).at(at) != model("two-optima", 2, 8).at(at)
    with pytest.raises(UsageError, match=r"There is no model 'hill'\. There are: bowl, cliff, two-optima"):
        model("hill", 2, 0)
