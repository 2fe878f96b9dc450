"""Values of which a few stray: scale and share from differences, level, and the evidence for two levels."""

import math

import numpy as np
import pytest

from becalm.stats.contaminated import LEAST, Noise, noise_of


def strays(count, core=0.004, stray=0.05, seed=1):
    rng = np.random.default_rng(seed)
    return core * rng.standard_normal(count) * np.where(rng.random(count) < stray, 5.0, 1.0)


def test_scale_and_share_are_told_apart_and_a_step_or_drift_hardly_touches_them():
    values = strays(4000)
    values[2000:] += 0.1
    values += np.linspace(0, 0.5, 4000)
    found = Noise()
    for _ in range(20):
        found = noise_of(np.diff(values), found, 0.02, 50)
    assert found.core == pytest.approx(0.004, rel=0.05)
    assert found.stray == pytest.approx(0.05, abs=0.015)


def test_normal_values_have_no_strays_and_few_values_believe_the_others():
    found = Noise()
    for _ in range(40):
        found = noise_of(np.diff(strays(4000, stray=0.0)), found, LEAST, 50)
    assert found.core == pytest.approx(0.004, rel=0.05)
    assert found.stray < 0.006
    assert noise_of(np.diff(strays(15, stray=0.0)), Noise(), 0.1, 1000).stray == pytest.approx(0.1, abs=0.02)


def test_differences_of_which_all_but_one_are_equal_have_no_scale_of_nothing():
    found = noise_of(np.array([0.0] * 30 + [0.1]), Noise(), 0.02, 50)
    assert math.isnan(found.core) or found.core > 0


def test_the_evidence_of_normal_values_is_the_step_in_its_standard_deviations():
    before, after = [-0.5, 0.5, -0.2, 0.2, 0.1, -0.1] * 2, [2.4, 2.5, 2.6]
    old, new, root = Noise(1.0, 1e-9).evidence(before, after, 0.0)
    assert (old, new) == (pytest.approx(0, abs=1e-6), pytest.approx(2.5, abs=1e-6))
    assert root == pytest.approx(2.5 / math.sqrt(1 / 3 + 1 / 12), rel=1e-3)
    # What the level may have moved by without a step counts as variance.
    _, _, less = Noise(1.0, 1e-9).evidence(before, after, 1.0)
    assert less == pytest.approx(2.5 / math.sqrt(1 / 3 + 1 / 12 + 1.0), rel=1e-3)


def test_a_stray_value_tells_little_and_its_evidence_is_bounded():
    before = [0.1, -0.1] * 6
    noise = Noise(1.0, 0.02)
    assert noise.location([0.0, 0.1, 20.0], 0.1) < 1
    one = noise.evidence(before, [0.0, 0.1, 9.0], 0.0)[2]
    three = noise.evidence(before, [8.9, 9.0, 9.1], 0.0)[2]
    assert one < 2
    assert 5 < three < 9.0 / math.sqrt(1 / 3 + 1 / 12) / 1.5


def test_without_a_step_the_root_is_about_as_often_large_as_a_normal_variable():
    """Of two levels that are one: 5 % of the roots lie beyond 1.96, wherever strays lie."""
    rng = np.random.default_rng(4)
    noise, beyond = Noise(1.0, 0.05), 0
    for _ in range(1500):
        values = (rng.standard_normal(15) * np.where(rng.random(15) < 0.05, 5.0, 1.0)).tolist()
        beyond += noise.evidence(values[:12], values[12:], 0.0)[2] > 1.96
    assert 0.03 < beyond / 1500 < 0.075
