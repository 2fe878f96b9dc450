"""Arms compared with the default across blocks: by hand, against least squares, and what chance does."""

import math

import numpy as np
import pytest

from becalm.methods.log_times import LogTimes
from becalm.methods.protocol import NO_SETTINGS, Sample
from becalm.nouns.settings import Settings

A, B, C = (Settings.of({"x": value}) for value in (1, 2, 3))


def block(times, **values):
    """Record one loop of one run each; `default`, `a`, `b`, `c` are log times."""
    arms = {"default": NO_SETTINGS, "a": A, "b": B, "c": C}
    times.add([Sample(arms[name], (np.array([math.exp(20 + value)]),)) for name, value in values.items()])


def test_one_block_is_compared_as_it_is():
    times = LogTimes("time")
    block(times, default=0.1, a=-0.1, b=0.3)
    assert times.level(A) == pytest.approx(-0.2)
    assert times.difference(B, A)[0] == pytest.approx(0.4)
    assert times.difference(B, A)[1] == math.inf
    assert not times.differs(A, B)


def test_drift_between_blocks_is_removed_by_what_they_share():
    times = LogTimes("time")
    rng = np.random.default_rng(0)
    for number in range(30):
        drift = 5.0 * number
        some = {"a": -0.2 + drift} if number % 2 else {"b": -0.1 + drift}
        block(times, default=drift + 0.001 * rng.standard_normal(), **some)
    assert times.level(A) == pytest.approx(-0.2, abs=0.002)
    assert times.difference(A, B)[0] == pytest.approx(-0.1, abs=0.002)
    assert times.differs(A, B)


def test_with_large_drift_it_is_least_squares_with_blocks():
    rng, times, rows, y = np.random.default_rng(1), LogTimes("time"), [], []
    for number in range(12):
        drift = 100.0 * rng.standard_normal()
        values = {"default": 0.0, "a": -0.2, "b": 0.1} if number % 3 else {"default": 0.0, "c": 0.3}
        seen = {name: value + drift + 0.05 * rng.standard_normal() for name, value in values.items()}
        block(times, **seen)
        for name, value in seen.items():
            rows.append([float(name == letter) for letter in "abc"] + [float(number == item) for item in range(12)])
            y.append(value)
    wanted, squares, rank, _ = np.linalg.lstsq(np.array(rows), np.array(y), rcond=None)
    assert [times.level(arm) for arm in (A, B, C)] == pytest.approx(wanted[:3].tolist(), abs=1e-3)
    # Blocks that are drawn cost no degree of freedom that those of fixed ones do not: the errors are the same.
    inverse = np.linalg.pinv(np.array(rows).T @ np.array(rows))
    error = math.sqrt(inverse[0, 0] * squares[0] / (len(y) - rank))
    assert times.difference(A, NO_SETTINGS)[1] == pytest.approx(error, rel=0.02)


def test_without_drift_runs_of_other_blocks_count_fully():
    rng, errors = np.random.default_rng(2), []
    for _ in range(200):
        times = LogTimes("time")
        for number in range(10):
            values = {"a" if number < 5 else "b": 0.1 * rng.standard_normal()}
            block(times, default=0.1 * rng.standard_normal(), **values)
        errors.append(times.difference(A, B)[0])
    # Means of five runs each: 0.1 * sqrt(2 / 5) = 0.063; through the defaults of their blocks it would be 0.089.
    assert np.std(errors) == pytest.approx(0.063, abs=0.011)


def test_intervals_cover_what_they_say():
    rng, missed = np.random.default_rng(3), 0
    for _ in range(300):
        times = LogTimes("time")
        for _ in range(6):
            drift = 0.1 * rng.standard_normal()
            block(times, **{name: drift + 0.05 * rng.standard_normal() for name in ("default", "a", "b")})
        missed += times.differs(A, NO_SETTINGS)
    assert missed / 300 < 0.09


def test_loops_of_several_runs_weigh_more_and_means_are_of_times():
    times = LogTimes("time")
    times.add([Sample(NO_SETTINGS, (np.array([1e9, 3e9]),)), Sample(A, (np.array([4e9, 4e9]),))])
    assert times.level(A) == pytest.approx(math.log(2))


def test_an_arm_that_failed_once_has_no_value():
    times = LogTimes("time")
    block(times, default=0.0, a=-0.5, b=-0.1)
    times.add([Sample(NO_SETTINGS, (np.array([1e9]),)), Sample(A, (np.array([1e9]),), failed=1)])
    assert times.failed(A)
    assert times.good == [NO_SETTINGS, B]
    assert times.failures == 1
    assert A not in times.expected()


def test_the_lowest_of_many_is_expected_to_be_higher_when_it_is_run_again():
    rng, times = np.random.default_rng(4), LogTimes("time")
    arms = [Settings.of({"x": number}) for number in range(20)]
    for _ in range(2):
        samples = [
            Sample(arm, (np.array([math.exp(20 + 0.1 * rng.standard_normal())]),)) for arm in (NO_SETTINGS, *arms)
        ]
        times.add(samples)
    lowest = min(arms, key=times.level)
    assert times.level(lowest) < times.expected()[lowest]


def test_faster_is_the_default_unless_another_is():
    times = LogTimes("time")
    for number in range(4):
        wave = 0.05 * (-1) ** number
        block(times, default=wave, a=-0.01 - wave, b=-0.5 + wave)
    assert times.faster([A]) == NO_SETTINGS
    assert times.faster([A, B]) == B
    assert times.faster([]) == NO_SETTINGS
    assert times.trials(B) == 4
