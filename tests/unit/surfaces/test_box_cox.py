"""Box and Cox's power of a response, by its model."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.unit.surfaces.published import treb

from becalm.surfaces.box_cox import box_cox, restored, transformed


def test_the_power_of_the_trebuchet():
    # MASS::boxcox(lm(…), lambda = seq(0.5, 3, by = 0.0005), interp = FALSE): largest at 1.537; above the limit from
    # 0.9840 to 2.3635, which is its grid's step inside of the interval.
    data = treb()
    cox = box_cox(data.matrix(data.frame.terms("quadratic")), data.y)
    assert cox.power == pytest.approx(1.537104, abs=1e-6)
    assert (cox.low, cox.high) == pytest.approx((0.984000, 2.363906), abs=1e-6)
    assert cox.advised == 1.0, "the interval holds 1: no transformation"


def test_without_factors_it_is_the_power_of_the_sample():
    y = np.random.default_rng(2).lognormal(1.0, 0.4, 60) + 0.3
    _, power = stats.boxcox(y)
    assert box_cox(np.ones((60, 1)), y).power == pytest.approx(power, abs=1e-5)


def test_it_finds_the_scale_on_which_the_model_holds():
    rng = np.random.default_rng(8)
    x = np.repeat([-1.0, -0.5, 0.0, 0.5, 1.0], 8)
    matrix = np.column_stack([np.ones(40), x])
    times = np.exp(3 + x + 0.05 * rng.normal(size=40))
    cox = box_cox(matrix, times)
    assert cox.low < 0 < cox.high
    assert cox.advised == 0.0
    rates = 1 / (3 + x + 0.05 * rng.normal(size=40))
    assert box_cox(matrix, rates).advised == -1.0


def test_responses_without_a_power_are_refused():
    with pytest.raises(ValueError, match="above 0; the smallest is 0"):
        box_cox(np.ones((5, 1)), np.array([0.0, 1, 2, 3, 4]))
    with pytest.raises(ValueError, match="No runs are left"):
        box_cox(np.eye(4), np.array([1.0, 2, 3, 4]))


@pytest.mark.parametrize("power", [-1.99, -0.5, 0.0, 0.5, 1.0, 2.0])
def test_a_power_rises_and_is_taken_back(power):
    y = np.array([0.2, 1.0, 3.0, 80.0])
    z = transformed(y, power)
    assert (np.diff(z) > 0).all()
    assert restored(z, power) == pytest.approx(y)


def test_beyond_what_any_response_gives_it_is_zero_or_without_end():
    assert restored(np.array([-3.0]), 0.5)[0] == 0
    assert math.isinf(restored(np.array([2.0]), -1.0)[0])
