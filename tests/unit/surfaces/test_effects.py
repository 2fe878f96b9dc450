"""Effects of two-level designs."""

import numpy as np
import pytest
from tests.unit.surfaces.published import FILTRATION

from becalm.designs.factorial import fraction, full
from becalm.surfaces.effects import effects


def test_the_filtration_rate():
    # Montgomery, Design and Analysis of Experiments, table 6.12; R: 2 * coef(lm(y ~ a*b*c*d))
    found = effects(full(4).points, FILTRATION)
    by_factors = {each.factors: each for each in found.found}
    assert len(by_factors) == 15
    assert [by_factors[some].value for some in [(0,), (2,), (3,), (0, 2), (0, 3), (0, 1, 2, 3)]] == pytest.approx(
        [21.625, 9.875, 14.625, -18.125, 16.625, 1.375]
    )
    assert [by_factors[some].sum_of_squares for some in [(0,), (2,), (3,), (0, 2), (0, 3)]] == pytest.approx(
        [1870.5625, 390.0625, 855.5625, 1314.0625, 1105.5625]
    )
    assert sum(each.sum_of_squares for each in found.found) == pytest.approx(5730.9375)
    # Lenth's method on the same data: 2.625, margin 6.748, simultaneous 13.699.
    assert found.error == pytest.approx(2.625)
    assert (found.margin, found.simultaneous) == pytest.approx((6.748, 13.699), abs=1e-3)
    assert [each.factors for each in found.found[:5]] == [(0,), (0, 2), (0, 3), (3,), (2,)]


def test_a_fraction_has_one_effect_for_each_group_of_aliases():
    found = effects(fraction(5, ["E=ABCD"]).points, np.arange(16.0))
    assert len(found.found) == 15
    assert all(len(each.factors) <= 2 for each in found.found)


def test_other_designs_have_none():
    assert effects(np.array([[-1.0], [0.0], [1.0]]), np.arange(3.0)) is None
    assert effects(full(3).points[:7], np.arange(7.0)) is None
