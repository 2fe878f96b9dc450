"""Levels of a series: a late change is found with its place, and memory, tails and modes are none."""

import numpy as np
import pytest
from scipy.signal import lfilter

from becalm.stats.levels import levels


def noise(seed: int, count: int) -> np.ndarray:
    return 100 * np.exp(0.01 * np.random.default_rng(seed).standard_normal(count))


def remembering(rng: np.random.Generator, count: int) -> np.ndarray:
    return lfilter([np.sqrt(1 - 0.93**2)], [1, -0.93], rng.standard_normal(count + 300))[300:]


@pytest.mark.parametrize(("count", "start"), [(100, 90), (300, 270), (3000, 2700)])
@pytest.mark.parametrize("ratio", [0.8, 1.25])
def test_a_late_change_is_found_with_its_run_and_size(count: int, start: int, ratio: float) -> None:
    x = noise(1, count)
    x[start:] *= ratio
    steps = levels(x)
    assert steps.detected
    assert steps.start == start
    assert steps.change == pytest.approx(ratio - 1, abs=0.02)
    assert steps.spread == pytest.approx(abs(1 / ratio - 1), abs=0.02)
    assert steps.late == 2


def test_a_series_of_several_late_levels_counts_them() -> None:
    x = noise(2, 3000)
    x[2600:2700] *= 1.3
    x[2900:] *= 1.15
    steps = levels(x)
    assert steps.late == 4
    assert steps.spread == pytest.approx(0.15, abs=0.02)
    assert steps.start in (2600, 2700)


def test_a_level_that_settles_early_or_changes_little_is_not_reported() -> None:
    early = noise(3, 3000)
    early[:1500] *= 1.5
    assert not levels(early).detected
    small = noise(3, 3000)
    small[2700:] *= 1.05
    assert not levels(small).detected
    assert levels(small).spread == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, count: rng.standard_normal(count),
        lambda rng, count: rng.standard_t(3, count),
        lambda rng, count: 8.0 * (rng.random(count) < 0.1) + 0.3 * rng.standard_normal(count),
        remembering,
    ],
    ids=["normal", "heavy tails", "two modes", "memory"],
)
def test_noise_has_one_level(draw) -> None:
    for seed in range(10):
        assert not levels(100 + 3 * draw(np.random.default_rng(seed), 300)).detected


def test_a_lone_run_is_no_level_and_coarse_values_are_fine() -> None:
    x = noise(4, 200)
    x[190] *= 30
    assert not levels(x).detected
    coarse = np.round(np.random.default_rng(5).normal(10, 0.5, 300))
    assert not levels(coarse).detected
    assert not levels(np.where(np.arange(300) % 7, 10.0, 11.0)).detected


@pytest.mark.parametrize("values", [[5.0], [5.0] * 100, [1.0, 2.0] * 5, [0.0, 1.0] * 50])
def test_short_constant_and_zero_series_have_none(values: list[float]) -> None:
    assert not levels(values).detected


def test_bad_series_are_refused() -> None:
    with pytest.raises(ValueError, match="must be finite numbers"):
        levels([1.0, np.nan])
    with pytest.raises(ValueError, match="at least 1"):
        levels([])


def test_very_long_series_are_divided_into_blocks() -> None:
    x = noise(6, 100_000)
    x[95_000:] *= 1.2
    steps = levels(x)
    assert steps.detected
    assert abs(steps.start - 95_000) <= 34
