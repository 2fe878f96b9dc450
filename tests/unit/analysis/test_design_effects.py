"""Effects of two levels by the pure error of repeated runs, and the test of curvature."""

import math

import numpy as np
import pytest

from becalm.analysis.design_effects import effect_table
from becalm.nouns.factor import Factor
from becalm.surfaces.anova import compare_models
from becalm.surfaces.surface import Data
from becalm.surfaces.terms import Frame

CORNERS = [(-1, -1), (1, -1), (-1, 1), (1, 1)]
FACTORS = [Factor.parse("x1=-1..1"), Factor.parse("x2=-1..1")]


def table(points, y, blocks=None):
    points = np.array(points, dtype=float)
    frame = Frame((0,) * points.shape[1])
    block = np.ones(len(y), dtype=int) if blocks is None else np.array(blocks)
    return effect_table(FACTORS, compare_models(Data(frame, points, block, np.array(y)))[0], 0.05)


def test_centre_points_judge_effects_and_curvature():
    # By hand: pure variance 0.05 / 3; error of an effect 2 s / sqrt 4; curvature 15.05 - 11.6 with s sqrt(1/4 + 1/4)
    effects = table([*CORNERS, *[(0, 0)] * 4], [10.1, 12.0, 11.1, 13.2, 15.0, 15.2, 14.9, 15.1])
    error = math.sqrt(0.05 / 3)
    assert effects.freedom == 3
    assert effects.error == pytest.approx(error)
    rows = {row.term: row for row in effects.effects}
    assert rows["x1"].t == pytest.approx(2.0 / error)
    assert (rows["x1"].certain, rows["x2"].certain, rows["x1:x2"].real) == (True, True, False)
    assert effects.curvature.value.value == pytest.approx(3.45)
    assert effects.curvature.t == pytest.approx(3.45 / (error * math.sqrt(0.5)))
    assert effects.curvature.p_value < 1e-4
    # The quantile of Student's t with 3 degrees of freedom for 95 %.
    reach = 3.182446 * error * math.sqrt(0.5)
    assert (effects.curvature.value.low, effects.curvature.value.high) == pytest.approx((3.45 - reach, 3.45 + reach))


def test_the_published_nitration_has_no_curvature():
    # Montgomery, Design and Analysis of Experiments, example 6.7: 39.3 40.9 40.0 41.5, centre 40.3 40.5 40.7 40.2 40.6:
    # SS of curvature 0.0027, F 0.06 with 1 and 4 degrees of freedom, pure error 0.0430; F of A 55.87, of B 9.83.
    effects = table([*CORNERS, *[(0, 0)] * 5], [39.3, 40.9, 40.0, 41.5, 40.3, 40.5, 40.7, 40.2, 40.6])
    rows = {row.term: row for row in effects.effects}
    assert effects.curvature.t**2 == pytest.approx(0.0632, abs=0.001)
    assert rows["x1"].t ** 2 == pytest.approx(55.87, abs=0.01)
    assert rows["x2"].t ** 2 == pytest.approx(9.82, abs=0.01)


def test_replicates_judge_effects_without_centre_points():
    effects = table(CORNERS * 2, [10.1, 12.0, 11.1, 13.2, 10.3, 12.2, 11.0, 13.0])
    assert effects.freedom == 4
    assert effects.curvature is None
    assert effects.effects[0].certain


def test_repeats_in_another_block_are_no_pure_error():
    effects = table(CORNERS * 2, [10.1, 12.0, 11.1, 13.2, 20.3, 22.2, 21.0, 23.0], [1] * 4 + [2] * 4)
    assert effects.freedom == 0
    assert math.isnan(effects.effects[0].t)


def test_the_difference_of_blocks_is_no_curvature():
    points = [*CORNERS, (0, 0), (0, 0), *CORNERS, (0, 0), (0, 0)]
    plain = [10.1, 12.0, 11.1, 13.2, 11.6, 11.8, 10.3, 12.2, 11.0, 13.0, 11.7, 11.5]
    shifted = [value + 5 * (index >= 6) for index, value in enumerate(plain)]
    blocks = [1] * 6 + [2] * 6
    assert table(points, shifted, blocks).curvature.value.value == pytest.approx(
        table(points, plain, blocks).curvature.value.value
    )


def test_exact_repeats_leave_the_judgement_to_lenth():
    effects = table([*CORNERS, (0, 0), (0, 0)], [1.0, 2, 3, 4, 2.5, 2.5])
    assert effects.freedom == 0
    assert effects.curvature is None
