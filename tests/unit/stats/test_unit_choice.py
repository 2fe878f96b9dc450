"""A choice for a unit that nobody has measured: steady before fast, with a promise that holds."""

import math

import numpy as np
import pytest
from tests.rates import at_most
from tests.samples import samples

from becalm.stats.unit_choice import FINALISTS, SURE, choose, next_units

NAN = math.nan


def drawn(seed: int, means: list[float], spreads: list[float], units: int) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal((len(means), units))
    return np.array(means)[:, None] + np.array(spreads)[:, None] * noise


def test_a_steady_configuration_is_taken_before_a_faster_lottery() -> None:
    means, spreads = [1.0, 1.05, 0.9, 0.8, 0.7, 0.6], [0.01, 0.3, 0.01, 0.01, 0.01, 0.01]
    for seed in range(10):
        choice = choose(drawn(seed, means, spreads, 5))
        assert choice.chosen is not None
        assert choice.chosen.index == 0
        assert choice.chosen.steady


def test_without_a_steady_one_the_least_spread_is_taken() -> None:
    choice = choose(drawn(1, [1.0, 2.0], [0.2, 0.9], 6))
    assert choice.chosen is not None
    assert (choice.chosen.index, choice.chosen.steady, choice.rivals) == (0, False, ())


def test_a_configuration_that_failed_once_or_was_left_behind_is_not_taken() -> None:
    table = np.array([[3.0, 3.0, -math.inf, 3.0], [2.9, 2.9, NAN, NAN], [1.0, 1.01, 1.0, 1.0], [0.5, 0.5, 0.5, 0.51]])
    choice = choose(table)
    assert choice.chosen is not None
    assert choice.chosen.index == 2
    assert [
        configuration.failed
        for configuration in sorted(choice.configurations, key=lambda configuration: configuration.index)
    ] == [1, 0, 0, 0]
    assert choose(np.array([[1.0], [2.0]])).chosen is None
    with pytest.raises(ValueError, match="no value"):
        choose(np.full((2, 2), NAN))


def test_those_that_may_be_as_good_are_named() -> None:
    choice = choose(drawn(2, [1.0, 1.0, 0.8], [0.01, 0.01, 0.01], 8))
    assert choice.chosen is not None
    assert set(choice.rivals) | {choice.chosen.index} == {0, 1}


def test_a_promise_is_kept_by_further_units_at_its_rate() -> None:
    broken, trials = 0, samples(100, 3000)
    for seed in range(trials):
        table = drawn(seed, [1.0] * 8, [0.02] * 8, 4)
        choice = choose(table[:, :3])
        assert choice.chosen is not None
        broken += bool(table[choice.chosen.index, 3] < choice.chosen.promise)
    # The best of eight equal ones was lucky on three units: the allowance is for that.
    assert broken <= at_most(trials, 1 - SURE, 0.01)


def test_all_are_measured_on_two_units_and_the_best_on_all() -> None:
    table = np.full((6, 4), NAN)
    truth = drawn(3, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.001] * 6, 4)
    first = next_units(table)
    assert first == [(row, unit) for unit in (0, 1) for row in range(6)]
    for cell in first:
        table[cell] = truth[cell]
    then = next_units(table)
    assert then == [(row, unit) for unit in (2, 3) for row in (5, 4, 3, 2)]
    assert len({row for row, _ in then}) == FINALISTS
    for cell in then:
        table[cell] = truth[cell]
    assert next_units(table) == []
    chosen = choose(table).chosen
    assert chosen is not None
    assert chosen.index == 5
    assert next_units(np.array([[1.0, NAN, 2.0], [NAN, NAN, 3.0]])) == [(1, 0)]
