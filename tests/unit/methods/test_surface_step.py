"""A step in one factor: found where it is, believed only where runs speak for it, and part of what is expected."""

import numpy as np
import pytest

from becalm.methods import surface_process
from becalm.methods.surface_covariance import Columns, CovariancePlaces, Side, Weights
from becalm.methods.surface_process import Measurements, SurfaceProcess, _Posterior, learn
from becalm.methods.surface_step import SurfaceStep, likeliest
from becalm.nouns.factor import Factor

RANGES = tuple(Factor(f"f{number}", 0.0, 1.0) for number in range(3))
CHOICE = Factor("c", choices=("a", "b", "c"))
EDGE, HEIGHT, NOISE = 0.3, 0.4, 0.01


def seen(factors=RANGES, count=24, height=HEIGHT, seed=0):
    """Return runs of a bowl with a step in the second factor."""
    rng, result = np.random.default_rng(seed), Measurements(factors)
    for number in range(count):
        at = [float(rng.integers(3)) if factor.categorical else rng.uniform(-1, 1) for factor in factors]
        result.add(at, value(at, height) + NOISE * rng.standard_normal(), number // 6)
        if number % 6 == 0:
            result.add(None, 0.3, number // 6)
    return result


def value(at, height=HEIGHT):
    return 0.2 * (at[0] - 0.1) ** 2 + 0.1 * at[2] + height * (at[1] > EDGE)


def again(runs):
    """Learn as a search does: first without a step, then from those weights."""
    process = learn(runs)
    for _ in range(4):
        process = learn(runs, process.weights)
    return process


@pytest.mark.parametrize("factors", [RANGES, (*RANGES, CHOICE), (CHOICE, *RANGES)], ids=["ranges", "last", "first"])
def test_a_step_is_found_where_it_is(factors):
    if factors[0] is CHOICE:
        runs = Measurements(factors)
        for place, y, block in zip(
            *(getattr(seen((*RANGES, CHOICE)), slot) for slot in runs.__slots__[1:]), strict=True
        ):
            runs.add((place[3], *place[:3]), y, block)
    else:
        runs = seen(factors)
    step = again(runs)._step
    assert factors[step.factor].name == "f1"
    below = max(p[step.factor] for p in runs.places if p[step.factor] <= EDGE)
    above = min(p[step.factor] for p in runs.places if p[step.factor] > EDGE)
    assert step.edge == pytest.approx((below + above) / 2)


def test_the_factors_of_the_covariance_are_used_again_where_there_is_no_step(monkeypatch):
    roots, root = [], surface_process._root
    monkeypatch.setattr(surface_process, "_root", lambda matrix: roots.append(matrix) or root(matrix))
    flat, cliff = seen(height=0.0), seen()
    weights = learn(flat).weights
    for runs, many in ((flat, 1), (cliff, 2)):
        roots.clear()
        process = learn(runs, weights, again=False)
        assert (process.step is None) == (many == 1)
        assert len(roots) == many
        assert np.allclose(process._root @ roots[-1] @ process._root.T, np.eye(len(roots[-1])), atol=1e-6)


def test_how_much_lies_above_it_is_reported():
    step, size = again(seen()).step
    assert step.factor == 1
    assert size == pytest.approx(HEIGHT, rel=0.15)


def test_without_one_the_rest_of_the_surface_is_not_known_as_well(monkeypatch):
    places = np.random.default_rng(9).uniform(-0.9, 0.9, (60, 3))
    truth = np.array([value(place) for place in places])

    def missed():
        return float(np.median(np.abs(again(seen(count=30)).expected(places) - truth)))

    stepped = missed()
    monkeypatch.setattr(surface_process, "likeliest", lambda *_: None)
    assert missed() > 2 * stepped


def test_both_sides_of_it_are_expected_and_how_they_differ_is_sure():
    process = again(seen(count=30))
    sides = np.array([[0.0, EDGE - 0.3, 0.0], [0.0, EDGE + 0.3, 0.0]])
    low, high = process.expected(sides)
    assert high - low == pytest.approx(HEIGHT, abs=0.08)
    mean, error = process.against(sides[0])(sides)
    assert mean == pytest.approx([low, high])
    assert error[0] == pytest.approx(0.0, abs=1e-6)
    assert 0 < error[1] < HEIGHT / 4


@pytest.mark.parametrize("seed", range(5))
def test_a_bowl_is_expected_as_well_with_it(seed):
    runs = seen(count=30, height=0.0, seed=seed)
    places = np.random.default_rng(seed + 50).uniform(-0.8, 0.8, (20, 3))
    truth = [value(place, 0.0) for place in places]
    assert again(runs).expected(places) == pytest.approx(truth, abs=0.06)


def test_it_is_one_column_more_of_the_covariance():
    """The expectation and its error are as from the whole covariance written out."""
    runs = seen()
    posterior = _Posterior(runs)
    weights = Weights.usual(3)
    posterior.step = SurfaceStep(1, 0.2)
    process = SurfaceProcess(posterior, weights)
    at, base = np.array([[0.4, 0.6, -0.3]]), np.array([[0.1, -0.5, 0.2]])
    both = CovariancePlaces(Columns(RANGES), np.vstack([at, base]))
    side = Side(both, weights)
    prior = side.covariance(both) + posterior.step.joint(both, both)
    joint = np.full((2, posterior.size), 25.0)
    joint[:, : posterior.varied_count] = Side(posterior.here, weights).covariance(both).T
    joint[:, : posterior.varied_count] += posterior.step.joint(both, posterior.here)
    inverse = np.linalg.inv(posterior.bare(weights, Side(posterior.here, weights)))
    left = prior - joint @ inverse @ joint.T
    contrast = np.array([1.0, -1.0])
    _, error = process.against(base[0])(at)
    assert error[0] == pytest.approx(posterior.scale * np.sqrt(contrast @ left @ contrast), rel=1e-4)


def test_runs_of_one_value_in_each_factor_have_no_step():
    places = CovariancePlaces(Columns(RANGES), np.zeros((4, 3)))
    assert likeliest(places, np.eye(4), np.ones(4)) is None
