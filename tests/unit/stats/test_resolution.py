"""Values of a limited resolution: rounding makes no modes, and true modes stay."""

import numpy as np
import pytest
from tests.rates import at_most
from tests.samples import samples

from becalm.stats.bimodality import bimodal
from becalm.stats.resolution import Grid, grid, spread_ties, valley

DRAWS = {
    "normal": lambda rng, count: rng.standard_normal(count),
    "skewed": lambda rng, count: np.exp(0.8 * rng.standard_normal(count)),
    "uniform": lambda rng, count: 3 * rng.random(count),
}


def test_ties_are_spread_over_their_cell() -> None:
    assert spread_ties(np.array([1.0, 2.0, 2.0, 4.0])).tolist() == [1.0, 1.75, 2.25, 4.0]
    assert spread_ties(np.array([1.0, 2.5, 7.0])).tolist() == [1.0, 2.5, 7.0]
    assert spread_ties(np.array([3.0, 3.0])).tolist() == [3.0, 3.0]


def test_the_resolution_may_change_along_the_axis() -> None:
    fine, coarse = np.arange(98.0, 100.0, 0.1), np.arange(100.0, 130.0)
    spread = spread_ties(np.sort(np.concatenate([fine, fine, coarse, coarse])))
    assert spread[1] - spread[0] == pytest.approx(0.05)
    assert spread[-1] - spread[-2] == pytest.approx(0.5)


def test_a_grid_is_that_of_few_equidistant_values() -> None:
    lattice = grid(np.array([10.0, 10.0, 10.2, 10.2, 10.6, 10.6]))
    assert lattice is not None
    assert lattice.counts.tolist() == [2, 2, 0, 2]
    assert lattice.step == pytest.approx(0.2)
    assert grid(np.array([1.0, 1.0, 2.0, 2.0, 3.5, 3.5])) is None, "off the grid"
    assert grid(np.arange(40.0)) is None, "no ties"
    assert grid(np.repeat([0.0, 1.0, 100.0], 9)) is None, "too many cells"


def test_an_empty_cell_between_two_full_ones_is_a_valley() -> None:
    p_value, middle = valley(Grid(5.0, 1.0, np.array([30, 0, 20])), 1.0)
    assert p_value == pytest.approx(0.5**20)
    assert middle == 6.0
    assert valley(Grid(5.0, 1.0, np.array([30, 0, 20])), 0.5)[0] == pytest.approx(0.5**10)
    assert valley(Grid(5.0, 1.0, np.array([10, 30, 20])), 1.0)[0] == 1.0
    assert valley(Grid(5.0, 1.0, np.array([10, 30])), 1.0)[0] == 1.0


@pytest.mark.parametrize("name", DRAWS)
def test_rounding_makes_no_modes(name: str) -> None:
    seeds = samples(10, 200)
    for deviation in (0.3, 0.5, 1, 2, 4, 10):
        count = sum(
            bimodal(np.round(1000 + deviation * DRAWS[name](np.random.default_rng(seed), 100))).detected
            for seed in range(seeds)
        )
        assert count <= at_most(seeds, 0.01)


@pytest.mark.parametrize("deviation", [0.25, 0.5, 1.0, 4.0])
def test_true_modes_of_coarse_values_are_found(deviation: float) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        high = rng.random(300) < 0.4
        modes = bimodal(np.round(1000 + deviation * (rng.standard_normal(300) + 10 * high)))
        assert modes.detected
        assert modes.low == pytest.approx(1000, abs=deviation)
        assert modes.high == pytest.approx(1000 + 10 * deviation, abs=1 + deviation)
        assert modes.low_share == pytest.approx(1 - high.mean(), abs=0.03)
