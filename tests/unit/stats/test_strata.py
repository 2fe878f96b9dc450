"""One estimate from series that are not equally precise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.rates import at_most
from tests.samples import samples

from becalm.stats.paired import NO_PAIRS, PairedDifferences, RepeatedPairs, locate, standard_error
from becalm.stats.strata import Strata


def series(count: int, deviation: float, theta: float, rng: np.random.Generator) -> PairedDifferences:
    return PairedDifferences(theta + deviation * rng.standard_normal(count), np.zeros(count), np.zeros(count))


def test_series_combine_by_inverse_variance() -> None:
    rng = np.random.default_rng(1)
    rough, fine = series(4000, 0.03, 0.1, rng), series(1000, 0.01, 0.1, rng)
    together = Strata((rough, fine))
    estimate = locate(together)
    error = standard_error(together.score(estimate), estimate)
    parts = [standard_error(pairs.score(0.1), 0.1) for pairs in (rough, fine)]
    assert error == pytest.approx(1 / math.sqrt(sum(part**-2 for part in parts)), rel=0.03)
    weights = [part**-2 for part in parts]
    assert estimate == pytest.approx(np.average([locate(rough), locate(fine)], weights=weights), abs=error / 10)


def test_a_single_series_gives_what_it_gives_by_itself() -> None:
    pairs = series(50, 0.01, 0.02, np.random.default_rng(2))
    alone = RepeatedPairs().look_at(pairs, 1.0)
    for parts in ((pairs,), (NO_PAIRS, pairs), (pairs, NO_PAIRS)):
        together = RepeatedPairs().look_at(Strata(parts), 1.0)
        assert (together.estimate, together.low, together.high) == pytest.approx(
            (alone.estimate, alone.low, alone.high), rel=1e-3
        )
        assert together.standard_error == pytest.approx(alone.standard_error, rel=1e-3)


def test_a_few_precise_pairs_are_few_coins() -> None:
    rng = np.random.default_rng(3)
    together = Strata((series(1000, 1.0, 0.0, rng), series(4, 1e-5, 0.0, rng)))
    assert 4 <= together.coins < 5
    estimate = RepeatedPairs().look_at(together, 1.0)
    assert (estimate.low, estimate.high) == (-math.inf, math.inf), "four coins exclude nothing"


def test_series_without_noise_give_their_value() -> None:
    exact = PairedDifferences(np.full(10, 0.2), np.zeros(10), np.zeros(10))
    estimate = RepeatedPairs().look_at(Strata((exact, exact)), 1.0)
    assert (estimate.estimate, estimate.low, estimate.high) == (0.2, 0.2, 0.2)


def test_a_series_without_noise_outweighs_a_rough_one() -> None:
    rough = series(100, 1.0, 0.2, np.random.default_rng(4))
    exact = PairedDifferences(np.full(10, 0.2), np.zeros(10), np.zeros(10))
    assert RepeatedPairs().look_at(Strata((rough, exact)), 1.0).estimate == pytest.approx(0.2, abs=1e-3)


def test_fewer_pairs_than_before_in_one_series_are_refused() -> None:
    rng = np.random.default_rng(5)
    first, second = series(20, 1.0, 0.0, rng), series(20, 1.0, 0.0, rng)
    watcher = RepeatedPairs()
    watcher.look_at(Strata((first, second)), 0.5)
    with pytest.raises(ValueError, match="needs all pairs measured so far"):
        watcher.look_at(Strata((NO_PAIRS, series(60, 1.0, 0.0, rng))), 1.0)


def test_information_grows_with_the_pairs_of_either_series() -> None:
    rng = np.random.default_rng(6)
    first, second = series(400, 1.0, 0.0, rng), series(400, 1.0, 0.0, rng)

    def part(pairs: PairedDifferences, count: int) -> PairedDifferences:
        return PairedDifferences(pairs.difference[:count], pairs.drift[:count], pairs.label[:count])

    looks = [(100, 0), (100, 200), (400, 400)]
    watcher, critical = RepeatedPairs(), []
    for (of_first, of_second), fraction in zip(looks, (0.3, 0.6, 1.0), strict=True):
        critical.append(watcher.look_at(Strata((part(first, of_first), part(second, of_second))), fraction).critical)
    plain = RepeatedPairs()
    same = [
        plain.look_at(series(count, 1.0, 0.0, rng), fraction).critical
        for count, fraction in ((100, 0.3), (300, 0.6), (800, 1.0))
    ]
    assert critical == pytest.approx(same, abs=0.05)


def test_false_alarms_at_any_look_are_as_stated() -> None:
    seeds, called = samples(24, 1000), 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        first, second = (rng.choice((-1, 1), 60) * np.abs(rng.standard_t(2, 60)) * size for size in (0.1, 1.0))
        watcher, outside = RepeatedPairs(), False
        for count in (6, 12, 20, 30, 45, 60):
            parts = [PairedDifferences(values[:count], np.zeros(count), np.zeros(count)) for values in (first, second)]
            estimate = watcher.look_at(Strata(parts), count / 60)
            outside |= estimate.low > 0 or estimate.high < 0
        called += outside
    assert called <= at_most(seeds, 0.05)
