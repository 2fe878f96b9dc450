"""Effects of two-level designs."""

import numpy as np
import pytest
from tests.unit.surfaces.published import FILTRATION

from becalm.designs.factorial import fraction, full_factorial
from becalm.designs.plackett_burman import plackett_burman
from becalm.surfaces.effects import effects


def test_the_filtration_rate():
    # Montgomery, Design and Analysis of Experiments, table 6.12; R: 2 * coef(lm(y ~ a*b*c*d))
    analysis = effects(full_factorial(4).points, FILTRATION)
    by_factors = {effect.factors: effect for effect in analysis.effects}
    assert len(by_factors) == 15
    assert [by_factors[some].value for some in [(0,), (2,), (3,), (0, 2), (0, 3), (0, 1, 2, 3)]] == pytest.approx(
        [21.625, 9.875, 14.625, -18.125, 16.625, 1.375]
    )
    assert [by_factors[some].sum_of_squares for some in [(0,), (2,), (3,), (0, 2), (0, 3)]] == pytest.approx(
        [1870.5625, 390.0625, 855.5625, 1314.0625, 1105.5625]
    )
    assert sum(effect.sum_of_squares for effect in analysis.effects) == pytest.approx(5730.9375)
    # Lenth's method on the same data: 2.625, margin 6.748, simultaneous 13.699.
    assert analysis.error == pytest.approx(2.625)
    assert (analysis.margin, analysis.simultaneous) == pytest.approx((6.748, 13.699), abs=1e-3)
    assert [effect.factors for effect in analysis.effects[:5]] == [(0,), (0, 2), (0, 3), (3,), (2,)]


def test_a_fraction_has_one_effect_for_each_group_of_aliases():
    analysis = effects(fraction(5, ["E=ABCD"]).points, np.arange(16.0))
    assert len(analysis.effects) == 15
    assert all(len(effect.factors) <= 2 for effect in analysis.effects)


def test_other_designs_have_none():
    assert effects(np.array([[-1.0], [0.0], [1.0]]), np.arange(3.0)) is None
    assert effects(full_factorial(3).points[:7], np.arange(7.0)) is None


CAST = """
++-+++- 6.058 | +-+++-- 4.733 | -+++--- 4.625 | +++---+ 5.899 | ++---+- 7.000 | +---+-+ 5.752
---+-++ 5.682 | --+-++- 6.607 | -+-++-+ 5.818 | +-++-++ 5.917 | -++-+++ 5.863 | ------- 4.809
"""
"""Log lifetime of repaired castings: Hunter, Hodi & Eager 1982; Wu & Hamada, Experiments, table 9.1."""


def test_a_plackett_burman_design_has_effects_of_factors_and_says_what_they_hold():
    runs = [word.split() for word in CAST.replace("\n", "|").split("|") if word.strip()]
    points = np.array([[1.0 if sign == "+" else -1.0 for sign in signs] for signs, _ in runs])
    analysis = effects(points, np.array([float(y) for _, y in runs]))
    # Wu & Hamada, section 9.4: A 0.326, B 0.294, C -0.246, D -0.516, E 0.150, F 0.915, G 0.183
    by_factor = {effect.factors: effect.value for effect in analysis.effects}
    assert by_factor == pytest.approx(
        {(0,): 0.326, (1,): 0.294, (2,): -0.246, (3,): -0.516, (4,): 0.150, (5,): 0.915, (6,): 0.183}, abs=6e-4
    )
    assert analysis.partial == pytest.approx(1 / 3)


def test_a_saturated_one_too():
    points = plackett_burman(11)
    analysis = effects(points, points @ np.arange(11.0))
    assert [effect.factors for effect in analysis.effects] == [(index,) for index in range(10, -1, -1)]
    assert [effect.value for effect in analysis.effects] == pytest.approx(list(range(20, -1, -2)))
    assert analysis.partial == pytest.approx(1 / 3)


def test_folded_its_factors_are_clear_of_interactions():
    first = plackett_burman(5)
    points, blocks = np.vstack([first, -first]), np.repeat([1, 2], 12)
    y = points @ np.array([3.0, 0, 0, 1, 0]) + 5 * points[:, 1] * points[:, 2] + 7 * (blocks == 2)
    analysis = effects(points, y, blocks=blocks)
    assert analysis.partial == 0
    assert {effect.factors: effect.value for effect in analysis.effects} == pytest.approx(
        {(0,): 6, (1,): 0, (2,): 0, (3,): 2, (4,): 0}, abs=1e-12
    )


def test_an_effect_confounded_with_blocks_is_left_out():
    points = full_factorial(3).points
    blocks = (points.prod(axis=1) > 0).astype(int)
    analysis = effects(points, points[:, 0] + 50 * blocks, blocks=blocks)
    assert len(analysis.effects) == 6
    assert (0, 1, 2) not in {effect.factors for effect in analysis.effects}
    twice = effects(np.vstack([points, points]), np.arange(16.0), blocks=np.repeat([1, 2], 8))
    assert len(twice.effects) == 7, "a replicate in each block loses nothing"


def test_blocks_that_go_with_a_factor_leave_no_effects():
    points = full_factorial(3).points
    assert effects(points, np.arange(8.0), blocks=(np.arange(8) > 2).astype(int)) is None
