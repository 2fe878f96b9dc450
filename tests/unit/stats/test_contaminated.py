"""Values of which a few stray: scale and share from differences."""

import math

import numpy as np
import pytest

from becalm.stats.contaminated import LEAST, noise_of


def strays(count, core=0.004, stray=0.05, seed=1):
    rng = np.random.default_rng(seed)
    return core * rng.standard_normal(count) * np.where(rng.random(count) < stray, 5.0, 1.0)


def noise(values, usual=0.02, peers=50):
    core, stray = noise_of(np.atleast_2d(np.diff(values)), usual, peers)
    return core.item(), stray.item()


def test_scale_and_share_are_told_apart_and_a_step_or_drift_hardly_touches_them():
    values = strays(4000)
    values[2000:] += 0.1
    values += np.linspace(0, 0.5, 4000)
    core, stray = noise(values)
    assert core == pytest.approx(0.004, rel=0.05)
    assert stray == pytest.approx(0.05, abs=0.02)


def test_normal_values_have_few_strays_and_few_values_believe_the_others():
    core, stray = noise(strays(4000, stray=0.0), LEAST)
    assert core == pytest.approx(0.004, rel=0.05)
    assert stray < 0.01
    assert noise(strays(15, stray=0.0), 0.1, 1000)[1] == pytest.approx(0.1, abs=0.02)


def test_one_value_however_far_it_strays_moves_the_scale_a_little():
    values = strays(30, stray=0.0)
    core, _ = noise(values)
    values[12] += 100.0
    assert noise(values)[0] == pytest.approx(core, rel=0.2)


def test_series_of_different_lengths_are_treated_alike():
    short, long = np.diff(strays(20)), np.diff(strays(40, seed=2))
    table = np.full((2, len(long)), math.nan)
    table[0, -len(short) :], table[1] = short, long
    together = noise_of(table, 0.02, 50)
    alone = [noise_of(part[None], 0.02, 50) for part in (short, long)]
    for index in range(2):
        assert together[index] == pytest.approx([part[index].item() for part in alone])


def test_differences_of_which_all_but_one_are_equal_have_no_scale_of_nothing():
    core, _ = noise(np.array([0.0] * 30 + [0.1]))
    assert math.isnan(core) or core > 0
    assert math.isnan(noise(np.zeros(30))[0])
