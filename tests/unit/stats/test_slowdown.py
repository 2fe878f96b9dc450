"""The slowdown of programs alongside each other."""

import math

import numpy as np
import pytest

from becalm.stats.slowdown import slowdown


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_slow_down_is_found_whatever_the_share_of_groups_at_once(share: float) -> None:
    rng = np.random.default_rng(1)
    kinds = rng.random(400) < share
    levels = 0.02 * kinds + 0.01 * rng.standard_normal(400)
    estimate, error = slowdown(levels, kinds)
    assert estimate == pytest.approx(0.02, abs=4 * error)
    assert 0.0005 < error < 0.005


def test_drift_is_no_slow_down() -> None:
    kinds = np.arange(400) % 10 == 5
    estimate, _ = slowdown(0.01 * np.arange(400.0), kinds)
    assert estimate == pytest.approx(0.0, abs=1e-9)


def test_an_outlier_does_not_decide() -> None:
    kinds = np.arange(100) % 2 == 0
    levels = 0.01 * np.random.default_rng(2).standard_normal(100)
    levels[50] += 100.0
    assert abs(slowdown(levels, kinds)[0]) < 0.01


@pytest.mark.parametrize("kinds", [[], [True], [False] * 5, [True] * 5, [False, True, False]])
def test_without_groups_of_both_kinds_nothing_is_known(kinds: list[bool]) -> None:
    levels = np.zeros(len(kinds))
    assert all(math.isnan(value) for value in slowdown(levels, np.array(kinds, dtype=bool)))
