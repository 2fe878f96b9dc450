"""Canonical and ridge analysis against rsm's prints."""

import numpy as np
import pytest
from tests.unit.surfaces.published import chemreact, heli, treb

from becalm.surfaces.canonical import Quadratic, canonical, path, ridge, steepest
from becalm.surfaces.surface import fitted


def quadratic(data):
    many = len(data.frame.choices)
    return Quadratic.of(fitted(data, data.frame.terms("quadratic")).polynomial, np.zeros(many), range(many))


def test_chemreact_has_a_maximum():
    # summary(rsm(Yield ~ Block + SO(x1, x2))): stationary point 0.3722954, 0.3343802; 86.86148 min, 176.67190 degrees
    form = canonical(quadratic(chemreact()))
    assert form.kind == "maximum"
    assert form.point == pytest.approx([0.3722953975, 0.3343802034], abs=1e-9)
    assert 85 + 5 * form.point[0] == pytest.approx(86.86148, abs=1e-5)
    assert form.eigenvalues == pytest.approx([-0.923302713, -1.318694893], abs=1e-9)


def test_the_helicopters_have_a_saddle():
    form = canonical(quadratic(heli()))
    assert form.kind == "saddle"
    assert form.point == pytest.approx([0.8607107, -0.3307115, -0.8394866, -0.1161465], abs=1e-7)
    assert form.eigenvalues == pytest.approx([3.258222, -1.198324, -3.807935, -4.651963], abs=1e-6)


def test_the_trebuchet_has_a_saddle_and_a_ridge():
    surface = quadratic(treb())
    form = canonical(surface)
    assert form.point == pytest.approx([0.9236846, -1.7161183, -2.7698217], abs=1e-7)
    assert form.eigenvalues == pytest.approx([1.280298, -3.551452, -11.853845], abs=1e-6)
    # steepest(treb.quad, dist = c(.5, 1, 1.4)) of rsm prints the same to three places.
    places = ridge(surface, [0.0, 0.5, 1.0, 1.4])
    assert places[0] == pytest.approx([0, 0, 0])
    assert places[1] == pytest.approx([0.276548, 0.385412, -0.158047], abs=1e-6)
    assert places[2] == pytest.approx([0.393125, 0.905317, -0.160791], abs=1e-6)
    assert places[3] == pytest.approx([0.389608, 1.344254, -0.034454], abs=1e-6)
    assert surface(places[1:]) == pytest.approx([102.600780, 111.323021, 117.078551], abs=1e-6)


def test_steepest_ascent_of_the_first_block_of_chemreact():
    # The vignette of rsm: direction of steepest ascent 0.8137335, 0.5812382
    data = chemreact(blocks=(1,))
    polynomial = fitted(data, data.frame.terms("linear")).polynomial
    assert steepest(polynomial.gradient(np.zeros(2), np.arange(2))) == pytest.approx([0.813733, 0.581238], abs=1e-6)


def test_a_ridge_is_the_best_of_its_sphere():
    rng = np.random.default_rng(6)
    for _ in range(20):
        bend = rng.normal(size=(4, 4))
        surface = Quadratic(1.0, rng.normal(size=4), (bend + bend.T) / 2)
        for largest in (True, False):
            place = ridge(surface, [1.5], largest=largest)
            assert np.linalg.norm(place) == pytest.approx(1.5)
            others = rng.normal(size=(4000, 4))
            others *= 1.5 / np.linalg.norm(others, axis=1)[:, None]
            best = surface(others).max() if largest else -surface(others).min()
            assert (surface(place)[0] if largest else -surface(place)[0]) >= best - 1e-12


def test_a_ridge_without_slope_along_the_steepest_bend():
    surface = Quadratic(0.0, np.array([0.0, 1.0]), np.diag([2.0, 1.0]))
    (place,) = ridge(surface, [3.0])
    # On the sphere, by hand: x2 = 1 / (2 (2 - 1)) = 0.5, the rest along the first axis.
    assert np.abs(place) == pytest.approx([8.75**0.5, 0.5])


def test_the_canonical_path_leaves_the_stationary_point_where_the_surface_rises_most():
    surface = quadratic(treb())
    form = canonical(surface)
    places = path(form, [-1.0, 0.0, 2.0])
    assert places[1] == pytest.approx(form.point)
    assert surface(places) - form.value == pytest.approx(form.eigenvalues[0] * np.array([1.0, 0.0, 4.0]))


def test_a_plane_and_a_trough_have_no_stationary_point():
    assert canonical(Quadratic(1.0, np.ones(2), np.zeros((2, 2)))).kind == "plane"
    trough = canonical(Quadratic(1.0, np.array([0.0, 1.0]), np.diag([1.0, 0.0])))
    assert (trough.kind, trough.point) == ("ridge", None)
    assert len(path(trough, [1.0])) == 0
