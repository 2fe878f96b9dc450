"""Looking repeatedly: published constants, and simulation of Brownian motion."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from becalm.stats.root_finding import outward, root
from becalm.stats.sequential import ErrorSpending, crossing_probability, symmetric_sequence


@pytest.mark.parametrize(("looks", "bound"), [(2, 2.178), (3, 2.289), (4, 2.361), (5, 2.413)])
def test_pocock_constants(looks: int, bound: float) -> None:
    # Jennison & Turnbull (2000), table 2.1.
    assert crossing_probability([bound] * looks, range(1, looks + 1)) == pytest.approx(0.05, abs=1e-4)


@pytest.mark.parametrize(("looks", "bound"), [(2, 1.977), (3, 2.004), (4, 2.024), (5, 2.040)])
def test_obrien_fleming_constants(looks: int, bound: float) -> None:
    # Jennison & Turnbull (2000), table 2.3.
    bounds = [bound * math.sqrt(looks / k) for k in range(1, looks + 1)]
    assert crossing_probability(bounds, range(1, looks + 1)) == pytest.approx(0.05, abs=1e-4)


def test_one_look_is_the_usual_test() -> None:
    assert ErrorSpending(0.05).look(1.0, 7.0) == pytest.approx(1.959964, abs=1e-6)
    assert ErrorSpending(0.01).look(3.0, 7.0) == pytest.approx(2.575829, abs=1e-6)


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0])
def test_alpha_is_spent_as_promised(power: float) -> None:
    spending = ErrorSpending(0.05, power)
    information = [1.0, 1.5, 4.0, 4.2, 9.0, 20.0]
    fractions = [0.1, 0.2, 0.3, 0.6, 0.65, 1.0]
    bounds = [spending.look(f, i) for f, i in zip(fractions, information, strict=True)]
    for k in range(1, 7):
        spent = crossing_probability(bounds[:k], information[:k])
        assert spent == pytest.approx(0.05 * fractions[k - 1] ** power, abs=1e-6)


def test_two_equal_looks_of_the_square_family() -> None:
    # A quarter of alpha at half the information: z = Phi^-1(1 - 0.00625), then solved for the rest.
    spending = ErrorSpending(0.05, 2.0)
    assert spending.look(0.5, 1.0) == pytest.approx(2.497705, abs=1e-5)
    last = spending.look(1.0, 2.0)
    assert crossing_probability([2.497705, last], [1, 2]) == pytest.approx(0.05, abs=1e-6)


def test_brownian_motion_crosses_as_often_as_promised() -> None:
    growth, looks = 1.1, 40
    information = growth ** np.arange(looks)
    spending = ErrorSpending(0.05)
    bounds = np.array([spending.look(i / information[-1], i) for i in information])
    rng = np.random.default_rng(1)
    steps = rng.standard_normal((40_000, looks)) * np.sqrt(np.diff(information, prepend=0.0))
    crossed = (np.abs(np.cumsum(steps, axis=1)) / np.sqrt(information) >= bounds).any(axis=1).mean()
    assert crossed == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 40_000))


def test_hundreds_of_looks_stay_finite_and_close_to_one_test() -> None:
    spending = ErrorSpending(0.05)
    limits = [spending.look(k / 500, float(k)) for k in range(1, 501)]
    called = [bound for bound in limits if math.isfinite(bound)]
    assert len(called) > 150
    assert limits[-1] == called[-1]
    assert 1.96 < called[-1] < 2.4
    assert all(later <= earlier + 0.1 for earlier, later in itertools.pairwise(called[5:]))


def test_looks_without_anything_new() -> None:
    spending = ErrorSpending(0.05)
    assert spending.look(0.0, 1.0) == math.inf
    first = spending.look(0.5, 2.0)
    assert spending.look(0.9, 2.0) == first
    assert spending.look(0.4, 3.0) == math.inf  # Nothing may be spent: the share went back.
    assert spending.look(0.6, 3.0 + 1e-9) == math.inf  # Hardly more than before.
    assert math.isfinite(spending.look(1.0, 5.0))
    assert spending.look(1.0, 6.0) == math.inf  # All is spent.


@pytest.mark.parametrize(("fraction", "information"), [(math.nan, 1.0), (0.5, math.inf), (0.5, -1.0)])
def test_looks_at_nonsense_are_refused(fraction: float, information: float) -> None:
    with pytest.raises(ValueError, match="share of the budget"):
        ErrorSpending().look(fraction, information)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, math.nan])
def test_levels_out_of_range_are_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        ErrorSpending(alpha)


def test_symmetric_sequence_holds_at_every_n() -> None:
    rng = np.random.default_rng(2)
    crossed = 0
    for _ in range(500):
        steps = np.clip(rng.standard_cauchy(2000), -50, 50)
        bound = symmetric_sequence(np.cumsum(steps**2), 0.05, expected=1e4)
        crossed += bool((np.abs(np.cumsum(steps)) >= bound).any())
    assert crossed <= 500 * 0.05 + 3 * math.sqrt(500 * 0.05 * 0.95)


def test_symmetric_sequence_is_narrowest_where_expected() -> None:
    v = np.geomspace(1, 1e6, 2001)
    relative = [symmetric_sequence(np.array([100.0]), 0.05, expected=value)[0] for value in v]
    assert v[int(np.argmin(relative))] == pytest.approx(100, rel=0.15)


def test_roots_of_steps_and_lines() -> None:
    assert root(lambda x: 1.0 if x < 0.3 else -1.0, 0.0, 1.0, 1e-9) == pytest.approx(0.3, abs=1e-8)
    assert root(lambda x: x**9 - 1e-9, 0.0, 1.0, 1e-12) == pytest.approx(0.1, abs=1e-9)
    with pytest.raises(ValueError, match="does not change its sign"):
        root(lambda x: 1.0, 0.0, 1.0, 1e-9)
    assert outward(lambda x: x - 100.0, 0.0, 1.0) == 128.0
    assert outward(lambda x: -1.0, 0.0, -1.0) == -math.inf
