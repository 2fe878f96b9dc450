"""Pairs of programs that ran at the same time: what cancels in them, and what does not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rates import at_most
from tests.samples import samples

from becalm.stats.at_once import at_once_pairs, tournament_pairs
from becalm.stats.paired import NO_PAIRS, RepeatedPairs, locate


def world(noise: np.ndarray, theta: float, side: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the times of both programs, shape (groups, 2); `noise` of shape (groups, rounds, CPUs)."""
    groups, rounds = np.arange(len(side))[:, None], np.arange(2)
    on = np.stack((side, 1 - side), axis=1)
    return noise[groups, rounds, 1 - on], noise[groups, rounds, on] + theta


def test_shared_noise_and_a_slower_cpu_cancel() -> None:
    rng = np.random.default_rng(1)
    side = rng.integers(2, size=40)
    noise = np.repeat(rng.standard_cauchy((40, 2, 1)), 2, axis=2)
    noise[:, :, 1] += 0.05
    pairs = at_once_pairs(*world(noise, 0.01, side), side, np.arange(40))
    assert pairs.difference == pytest.approx(np.full(40, 0.01))


def test_a_cpu_that_becomes_slower_is_subtracted_as_drift() -> None:
    rng = np.random.default_rng(2)
    side, number = rng.integers(2, size=400), np.arange(400)
    noise = np.zeros((400, 2, 2))
    noise[:, :, 1] = (0.001 * np.arange(800)).reshape(400, 2)
    noise += 1e-5 * rng.standard_normal(noise.shape)
    estimate = RepeatedPairs().look_at(at_once_pairs(*world(noise, 0.02, side), side, number), 1.0)
    assert estimate.adjusted > 0.9
    assert estimate.estimate == pytest.approx(0.02, abs=5 * estimate.standard_error)


def test_exchanging_the_programs_turns_the_sign() -> None:
    rng = np.random.default_rng(3)
    side, number = rng.integers(2, size=30), np.arange(30)
    reference, candidate = world(0.01 * rng.standard_normal((30, 2, 2)), 0.02, side)
    forth = at_once_pairs(reference, candidate, side, number)
    back = at_once_pairs(candidate, reference, 1 - side, number)
    assert back.difference == pytest.approx(-forth.difference)
    assert locate(back) == pytest.approx(-locate(forth), abs=1e-7)


def test_no_groups_are_no_pairs() -> None:
    empty, none = np.zeros((0, 2)), np.zeros(0, dtype=np.int64)
    assert at_once_pairs(empty, empty, none, none) is NO_PAIRS


@pytest.mark.parametrize("theta", [0.0, 0.3])
def test_false_alarms_are_as_stated_whatever_the_noise_of_a_cpu(theta: float) -> None:
    """Bursts of Cauchy size on one CPU alone, and a memory: only the coin is relied on."""
    seeds, wrong = samples(100, 2000), 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        side, number = rng.integers(2, size=40), np.arange(40)
        noise = np.cumsum(0.1 * rng.standard_normal((80, 2)), axis=0)
        noise[:, 1] += np.where(rng.random(80) < 0.2, np.abs(rng.standard_cauchy(80)), 0.0)
        pairs = at_once_pairs(*world(noise.reshape(40, 2, 2), theta, side), side, number)
        estimate = RepeatedPairs().look_at(pairs, 1.0)
        wrong += not estimate.low <= theta <= estimate.high
    assert wrong <= at_most(seeds, 0.05)


LEVELS = np.array([0.0, 0.03, -0.02, 0.05])
PARTS = np.array([[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 3], [1, 2]]])
"""The meetings of four programs, shape (parts, meetings, 2)."""


def tournaments(count: int, size: float, seed: int) -> np.ndarray:
    """Return times of four programs, shape (programs, rounds): the CPU of each is drawn and exchanged, and one CPU is
    slower by a Cauchy noise in each round and meeting."""
    rng = np.random.default_rng(seed)
    times = np.zeros((4, count * 6))
    for part in range(3 * count):
        for first, second in PARTS[part % 3]:
            side, shared = int(rng.integers(2)), rng.standard_normal(2)
            slower = size * rng.standard_cauchy(2)
            for place in (0, 1):
                at = 2 * part + place
                times[first, at] = LEVELS[first] + shared[place] + (side ^ place) * slower[place]
                times[second, at] = LEVELS[second] + shared[place] + (1 - (side ^ place)) * slower[place]
    return times


def paired(times: np.ndarray, programs: tuple[int, int]):
    """Return the pairs of whole tournaments of four programs."""
    count = times.shape[1] // 6
    return tournament_pairs(times, np.arange(6 * count).reshape(count, 6), np.tile(PARTS, (count, 1, 1, 1)), programs)


@pytest.mark.parametrize(("reference", "candidate"), [(0, 1), (1, 3), (3, 2)])
def test_a_tournament_gives_the_difference_of_any_two_programs(reference: int, candidate: int) -> None:
    """Noise that both programs of a meeting share cancels."""
    pairs = paired(tournaments(5, 0.0, 1), (reference, candidate))
    assert pairs.difference == pytest.approx([LEVELS[candidate] - LEVELS[reference]] * 5)


def test_a_tournament_is_more_precise_than_the_meeting_of_two_programs() -> None:
    rng = np.random.default_rng(2)
    times = rng.standard_normal((4, 6 * 4000))
    difference = paired(times, (0, 1)).difference
    own = times.reshape(4, 4000, 6)
    direct = (own[1, :, :2] - own[0, :, :2]).mean(axis=1)
    assert np.var(difference) / np.var(direct) == pytest.approx(2 / 4, rel=0.1)


def test_no_tournaments_are_no_pairs() -> None:
    assert paired(np.zeros((4, 0)), (0, 1)) is NO_PAIRS


def test_false_alarms_of_a_tournament_are_as_stated_whatever_the_noise_of_a_cpu() -> None:
    seeds, wrong = samples(100, 2000), 0
    for seed in range(seeds):
        estimate = RepeatedPairs().look_at(paired(tournaments(20, 0.3, seed), (0, 1)), 1.0)
        wrong += not estimate.low <= LEVELS[1] <= estimate.high
    assert wrong <= at_most(seeds, 0.05)
