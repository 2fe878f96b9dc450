"""Series thinned for pictures: they end where the series ends, and their distribution is a distribution."""

import numpy as np
import pytest

from becalm.stats.thinned import COURSE, QUANTILES, course, density, quantiles, step_ends

SERIES = {
    "few": np.array([5.0, 2.0, 9.0]),
    "one": np.array([4.0]),
    "all equal": np.full(500, 7.0),
    "many": np.random.default_rng(1).lognormal(0, 1, 5_000),
    "two modes": np.concatenate([np.random.default_rng(2).normal(m, 1, 400) for m in (0, 50)]),
}


@pytest.mark.parametrize("name", SERIES)
def test_quantiles_end_where_the_runs_end(name):
    values = SERIES[name]
    levels = quantiles(values)
    assert (levels[0], levels[-1]) == (values.min(), values.max())
    assert list(levels) == sorted(levels)
    assert len(levels) == min(len(values), QUANTILES)


@pytest.mark.parametrize("name", SERIES)
def test_the_course_is_in_order_and_short(name):
    values = SERIES[name]
    thinned = course(values)
    assert len(thinned) == min(len(values), COURSE)
    if len(values) <= COURSE:
        assert thinned == tuple(values)


def test_the_course_of_a_drift_drifts():
    thinned = course(np.arange(10_000.0))
    assert list(thinned) == sorted(set(thinned))


@pytest.mark.parametrize("name", [row for row in SERIES if row not in ("one", "all equal")])
def test_a_violin_ends_where_the_runs_end_and_holds_all_of_them(name):
    points = np.array(quantiles(SERIES[name]))
    low, high = points[0], points[-1]
    places = np.linspace(low - 0.3 * (high - low), high + 0.3 * (high - low), 10_001)
    heights = density(points, places)
    assert (heights[(places < low) | (places > high)] == 0).all()
    assert np.trapezoid(heights, places) == pytest.approx(1, abs=0.02)


def test_a_violin_of_equal_runs_is_a_line():
    assert list(density(np.full(5, 3.0), np.array([2.9, 3.0, 3.1]))) == [0, 1, 0]


@pytest.mark.parametrize("name", SERIES)
def test_the_distribution_begins_at_nothing_and_ends_at_all(name):
    points = np.array(quantiles(SERIES[name]))
    x, y = step_ends(points)
    assert (y[0], y[-1]) == (0, 1)
    assert (x[0], x[-1]) == (points.min(), points.max())
    assert (np.diff(y) >= 0).all()
