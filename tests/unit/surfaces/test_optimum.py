"""The best point of a surface, and how well it is known."""

import numpy as np
import pytest
from tests.rates import at_least
from tests.samples import samples
from tests.unit.surfaces.published import chemreact, treb

from becalm.surfaces import optimum as best
from becalm.surfaces.optimum import Bounds, optimum
from becalm.surfaces.surface import Data, fitted
from becalm.surfaces.terms import Frame


def rng(seed=1):
    return np.random.default_rng(seed)


def test_the_best_of_chemreact_is_its_stationary_point():
    data = chemreact()
    surface = fitted(data, data.frame.terms("quadratic"))
    result = optimum(surface, Bounds.of(data.frame), rng(), largest=True, level=0.05)
    assert result.point == pytest.approx([0.3722953975, 0.3343802034], abs=1e-8)
    assert result.border == ()
    # In block 1 R's predict(…, interval = "confidence") gives 84.3656053; the mean of the blocks is half of the second
    # block's effect lower.
    assert result.value == pytest.approx(84.3656053 - 4.4575297619 / 2, abs=1e-6)
    assert result.lowest < result.low < result.value < result.high < result.highest
    assert result.run_low < result.low
    assert (result.place_low < result.point).all()
    assert (result.point < result.place_high).all()


def test_the_interval_of_the_mean_and_of_one_run_are_those_of_r():
    # predict(lm(…), data.frame(x1 = 1, x2 = 1, x3 = -1), interval = "confidence" and "prediction")
    data = treb()
    surface = fitted(data, data.frame.terms("quadratic"))
    low = high = np.array([1.0, 1.0, -1.0])
    result = optimum(surface, Bounds(low, high), rng(), largest=True, level=0.05)
    assert (result.value, result.low, result.high) == pytest.approx((109.125, 102.9754952, 115.2745048), abs=1e-6)
    assert (result.run_low, result.run_high) == pytest.approx((101.0684026, 117.1815974), abs=1e-6)


def test_a_best_point_on_the_border_is_reported():
    data = treb()
    result = optimum(
        fitted(data, data.frame.terms("quadratic")), Bounds.of(data.frame), rng(), largest=True, level=0.05
    )
    assert result.border == (1,)
    # By hand: with x2 = 1 the gradient in the others is zero at the solution of two equations.
    inner = np.linalg.solve([[2 * 9.375, -4.75], [-4.75, 2 * 3.375]], [19.75 - 6.25, -11.5 + 6.75])
    assert result.point == pytest.approx([inner[0], 1.0, inner[1]], abs=1e-9)


def test_all_choices_are_tried_and_the_certainty_is_reported():
    generator = rng(2)
    points = np.array([(x, c) for c in range(3) for x in (-1, -0.5, 0, 0.5, 1)] * 2, dtype=float)
    best = np.array([1.0, 0.2, 3.0])[points[:, 1].astype(int)]
    y = best + (points[:, 0] - 0.3) ** 2 + 0.05 * generator.normal(size=30)
    data = Data(Frame((0, 3)), points, np.ones(30, dtype=int), y)
    result = optimum(
        fitted(data, data.frame.terms("quadratic")), Bounds.of(data.frame), rng(), largest=False, level=0.05
    )
    assert result.point[1] == 1
    assert result.shares[1] == (0.0, 1.0, 0.0)
    assert result.place_low[0] < 0.3 < result.place_high[0]


def test_of_very_many_choices_each_is_chosen_by_itself(monkeypatch):
    generator = rng(5)
    frame = Frame((0, 2, 3, 2))
    points = np.column_stack([generator.uniform(-1, 1, 80), *(generator.integers(many, size=80) for many in (2, 3, 2))])
    add = np.array([0.0, 0.5, -0.5])
    y = (
        points[:, 0]
        + add[points[:, 2].astype(int)]
        - points[:, 1]
        + 0.01 * points[:, 3]
        + 0.3 * generator.normal(size=80)
    )
    surface = fitted(Data(frame, points.astype(float), np.ones(80, dtype=int), y), frame.terms("linear"))
    every = best.optimum(surface, Bounds.of(frame), rng(), largest=False, level=0.05)
    monkeypatch.setattr(best, "MANY", 3)
    alone = best.optimum(surface, Bounds.of(frame), rng(), largest=False, level=0.05)
    assert alone.point == pytest.approx(every.point)
    assert (alone.value, alone.low, alone.high) == pytest.approx((every.value, every.low, every.high))
    assert alone.shares == every.shares
    assert 0.5 < alone.shares[3][int(alone.point[3])] < 1.0
    assert not best.separable(fitted(surface.data, frame.terms("2fi")).polynomial, frame)


def test_intervals_hold_what_they_promise():
    """The true best place and the true value there are in the intervals of experiments with a known surface."""
    generator, trials = rng(9), samples(40, 500)
    cube = np.array([(a, b) for a in (-1, 1) for b in (-1, 1)], dtype=float)
    axial = 2**0.5 * np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])
    points = np.vstack([cube, axial, np.zeros((5, 2))])
    truth = np.array([0.3, -0.2])
    value = 10 - 3 * (points[:, 0] - truth[0]) ** 2 - 2 * (points[:, 1] - truth[1]) ** 2
    data = [
        Data(Frame((0, 0)), points, np.ones(13, dtype=int), value + 0.4 * generator.normal(size=13))
        for _ in range(trials)
    ]
    held, valued = np.zeros(2), 0
    for datum in data:
        surface = fitted(datum, datum.frame.terms("quadratic"))
        result = optimum(surface, Bounds.of(datum.frame), generator, largest=True, level=0.05)
        held += (result.place_low <= truth) & (truth <= result.place_high)
        valued += result.lowest <= 10 <= result.highest
    assert (held >= at_least(trials, 0.95, 0.01)).all()
    assert valued >= at_least(trials, 0.97, 0.01)


def test_a_saturated_model_has_a_best_point_and_no_interval():
    data = treb()
    own = np.r_[0:10]
    some = Data(data.frame, data.points[own], data.blocks[own], data.y[own])
    surface = fitted(some, data.frame.terms("2fi"))
    exact = Data(some.frame, some.points[:4], some.blocks[:4], some.y[:4])
    result = optimum(
        fitted(exact, [data.frame.terms("linear")[0]]), Bounds.of(data.frame), rng(), largest=True, level=0.05
    )
    assert np.isfinite(result.low)
    full = optimum(fitted(exact, data.frame.terms("2fi")[:6]), Bounds.of(data.frame), rng(), largest=True, level=0.05)
    assert np.isnan(full.low)
    assert np.isnan(full.lowest)
    assert surface.fit.freedom == 3
