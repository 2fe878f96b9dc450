"""Two responses at once."""

import numpy as np
import pytest

from becalm.nouns.goal import Goal
from becalm.surfaces.desirability import best, desirability
from becalm.surfaces.optimum import Bounds
from becalm.surfaces.terms import Frame


def conversion(x):
    """Return conversion, as in R's package desirability (Myers & Montgomery, Response Surface Methodology)."""
    a, b, c = x.T
    linear = 81.09 + 1.0284 * a + 4.043 * b + 6.2037 * c - 1.8366 * a**2 + 2.9382 * b**2 - 5.1915 * c**2
    return linear + 2.2150 * a * b + 11.375 * a * c - 3.875 * b * c


def activity(x):
    """Return thermal activity, from the same source."""
    a, b, c = x.T
    linear = 59.85 + 3.583 * a + 0.2546 * b + 2.2298 * c + 0.83479 * a**2 + 0.07484 * b**2 + 0.05716 * c**2
    return linear - 0.3875 * a * b - 0.375 * a * c + 0.3125 * b * c


def test_conversion_and_activity():
    # The example of R's package desirability: overall 0.9425 within the cube of 1.682
    first, second = Goal.parse("max:80..97"), Goal.parse("target:55..57.5..60")
    values = [lambda x: desirability(first, conversion(x)), lambda x: desirability(second, activity(x))]
    bounds = Bounds(np.full(3, -1.682), np.full(3, 1.682))
    best_place = best(Frame((0, 0, 0)), values, bounds, np.random.default_rng(0))
    assert best_place.overall == pytest.approx(0.942509, abs=1e-6)
    assert best_place.point == pytest.approx([-0.511697, 1.682, -0.586399], abs=1e-5)
    assert conversion(best_place.point[None, :])[0] == pytest.approx(95.1015, abs=1e-4)
    assert best_place.overall == pytest.approx(np.prod(best_place.individual) ** 0.5)


def test_where_nothing_is_acceptable_it_is_nought():
    never = Goal.parse("max:10..20")
    best_place = best(
        Frame((0, 2)),
        [lambda x: desirability(never, x[:, 0])],
        Bounds(np.full(2, -1.0), np.ones(2)),
        np.random.default_rng(0),
    )
    assert best_place.overall == 0


def test_desirability_is_linear_between_its_limits():
    y = np.array([0.0, 80, 88.5, 97, 200])
    assert desirability(Goal.parse("max:80..97"), y) == pytest.approx([0, 0, 0.5, 1, 1])
    assert desirability(Goal.parse("min:80..97"), y) == pytest.approx([1, 1, 0.5, 0, 0])
    target = Goal.parse("target:55..57.5..60")
    assert desirability(target, np.array([54, 55, 56.25, 57.5, 59.5, 60])) == pytest.approx([0, 0, 0.5, 1, 0.2, 0])
