"""Properties of the statistics for any numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from becalm.stats.bimodality import excess_mass
from becalm.stats.classical_tests import mann_whitney, welch_t, wilcoxon
from becalm.stats.describe import describe
from becalm.stats.multiplicity import bonferroni, holm
from becalm.stats.paired import PairedEstimate, RepeatedPairs
from becalm.stats.sequential import ErrorSpending, crossing_probability

numbers = st.floats(-20, 20, allow_nan=False).map(lambda x: round(x, 6))
Rounds = list[tuple[float, float, bool]]
rounds = st.lists(st.tuples(numbers, numbers, st.booleans()), min_size=1, max_size=60)


def look(data: Rounds, alpha: float = 0.05, *, shift: float = 0.0, swap: bool = False) -> PairedEstimate:
    reference, candidate, first = (np.array(column) for column in zip(*data, strict=True))
    every = 2 * np.arange(len(data))
    places = every + first, every + 1 - first
    if swap:
        return RepeatedPairs(alpha).look(candidate, reference, places[1], places[0], 1.0)
    return RepeatedPairs(alpha).look(reference + shift, candidate + shift, *places, 1.0)


def near(value: float) -> object:
    return pytest.approx(value, rel=1e-3, abs=2e-3)


@given(rounds, st.floats(-100, 100))
def test_a_faster_machine_changes_nothing(data: Rounds, shift: float) -> None:
    first, second = look(data), look(data, shift=shift)
    assert (second.low, second.high, second.p_value) == (near(first.low), near(first.high), near(first.p_value))


@given(rounds)
def test_swapping_the_programs_mirrors_everything(data: Rounds) -> None:
    first, second = look(data), look(data, swap=True)
    assert (second.low, second.high) == (near(-first.high), near(-first.low))
    assert second.p_value == near(first.p_value)


@given(rounds)
def test_the_interval_holds_the_estimate_and_no_number_is_nan(data: Rounds) -> None:
    estimate = look(data)
    assert estimate.low <= estimate.estimate + 1e-9
    assert estimate.estimate <= estimate.high + 1e-9
    assert 0.0 <= estimate.p_value <= 1.0
    assert 0.0 <= estimate.adjusted <= 1.0
    assert not any(math.isnan(value) for value in (estimate.estimate, estimate.standard_error, estimate.detectable))


@given(rounds, st.floats(0.001, 0.4), st.floats(1.01, 2.0))
def test_more_confidence_is_never_narrower(data: Rounds, alpha: float, factor: float) -> None:
    sure, less = look(data, alpha), look(data, alpha * factor)
    assert sure.low <= less.low + 2e-3
    assert less.high <= sure.high + 2e-3


@given(rounds, st.randoms(use_true_random=False))
def test_the_order_of_rounds_does_not_matter_without_neighbours(data: Rounds, random: object) -> None:
    # Equal positions leave no neighbours to adjust by.
    reference, candidate, _ = (np.array(column) for column in zip(*data, strict=True))
    order = np.arange(len(data))
    random.shuffle(order)  # type: ignore[attr-defined]
    zeros = np.zeros(len(data))
    first = RepeatedPairs().look(reference, candidate, zeros, zeros, 1.0)
    two = RepeatedPairs().look(reference[order], candidate[order], zeros, zeros, 1.0)
    assert (two.low, two.high) == (near(first.low), near(first.high))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(1.01, 5)), min_size=1, max_size=12), st.floats(0.001, 0.2))
def test_no_looks_spend_more_than_alpha(looks: list[tuple[float, float]], alpha: float) -> None:
    spending, information, bounds, at = ErrorSpending(alpha), 1.0, [], []
    for fraction, growth in looks:
        information *= growth
        at.append(information)
        bounds.append(spending.look(fraction, information))
    assert crossing_probability(bounds, at) <= alpha + 1e-6


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=80), st.floats(0.01, 100))
def test_descriptions_scale_with_the_unit(values: list[float], unit: float) -> None:
    first, second = describe(values), describe(np.array(values) * unit)
    assert second.mean == pytest.approx(first.mean * unit)
    assert second.cv == pytest.approx(first.cv, abs=1e-9)
    assert second.minimum <= second.median <= second.maximum
    slack = 1e-9 * second.maximum
    assert second.mean_interval[0] - slack <= second.mean <= second.mean_interval[1] + slack
    assert second.median_interval[0] <= second.median <= second.median_interval[1]
    assert second.cv_interval[0] <= second.cv <= second.cv_interval[1]
    assert 1.0 <= second.effective_n <= second.n


@given(st.lists(numbers, min_size=2, max_size=30), st.lists(numbers, min_size=2, max_size=30))
def test_two_sided_tests_do_not_know_which_sample_is_first(x: list[float], y: list[float]) -> None:
    assert welch_t(x, y).p_value == pytest.approx(welch_t(y, x).p_value)
    assert mann_whitney(x, y).p_value == pytest.approx(mann_whitney(y, x).p_value)
    pairs = min(len(x), len(y))
    assert wilcoxon(x[:pairs], y[:pairs]).p_value == pytest.approx(wilcoxon(y[:pairs], x[:pairs]).p_value)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_lies_between_the_p_values_and_bonferroni(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert (adjusted >= np.array(p_values) - 1e-15).all()
    assert (adjusted <= bonferroni(p_values) + 1e-15).all()


@given(st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=60), st.floats(0.01, 100), st.floats(-10, 10))
def test_excess_mass_does_not_depend_on_the_unit(values: list[float], unit: float, shift: float) -> None:
    assume(min(values) < max(values))
    ordered = np.sort(np.array(values))
    mass, two = excess_mass(ordered)[0], excess_mass(ordered * unit + shift)[0]
    assert 0.0 <= mass <= 0.5 + 1e-12
    assert two == pytest.approx(mass, abs=1e-6)
