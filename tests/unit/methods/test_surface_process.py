"""The surface that is learnt: its gradient, what it expects, and how sure it is."""

import numpy as np
import pytest

from becalm.methods.surface_covariance import Columns, CovariancePlaces, Side, Weights
from becalm.methods.surface_process import Measurements, _Posterior, learn
from becalm.nouns.factor import Factor
from becalm.stats.one_thread import _libraries, one_thread

FACTORS = (*(Factor(f"f{number}", 0.0, 1.0) for number in range(3)), Factor("c", choices=("a", "b", "c")))


def seen(count=14, noise=0.01, shift=0.0):
    rng, result = np.random.default_rng(0), Measurements(FACTORS)
    for number in range(count):
        at = [*rng.uniform(-1, 1, 3), float(rng.integers(3))]
        block = number // 5
        result.add(at, value(at) + shift * block + noise * rng.standard_normal(), block)
        if number % 5 == 0:
            result.add(None, 0.5 + shift * block, block)
    return result


def value(at):
    return at[0] ** 2 + 0.3 * at[1] + 0.1 * (at[3] == 2)


def test_the_gradient_is_that_of_the_density():
    posterior = _Posterior(seen())
    logs = Weights.usual(len(FACTORS)).logs + 0.1 * np.arange(8)
    gradient = posterior.value(logs)[1]
    steps = 1e-5 * np.eye(len(logs))
    numeric = [(posterior.value(logs + step)[0] - posterior.value(logs - step)[0]) / 2e-5 for step in steps]
    assert gradient == pytest.approx(numeric, rel=1e-4, abs=1e-6)


def test_it_expects_what_the_runs_say_and_is_surest_where_they_are():
    runs = seen(40)
    process = learn(runs)
    places = np.random.default_rng(5).uniform(-0.8, 0.8, (30, 4))
    places[:, 3] = np.arange(30) % 3
    base = np.array([0.0, 0.0, 0.0, 0.0])
    mean, error = process.against(base)(places)
    truth = np.array([value(place) for place in places])
    assert np.abs(mean - truth).max() < 0.1
    assert process.against(base)(base[None])[1] == pytest.approx([0.0], abs=1e-6)
    assert (error > 0).all()
    assert process.expected(places) == pytest.approx(mean)
    assert process.weights.relevance[0] > 3 * process.weights.relevance[2]


def test_a_doubted_surface_is_the_same_at_its_runs_and_less_sure_between_them():
    runs = seen(40)
    process, base = learn(runs), np.array([0.0, 0.0, 0.0, 0.0])
    assert process.weights.others[0] < 0.6
    doubted = process.with_doubt()
    assert doubted.weights.others == (pytest.approx(1.2), *process.weights.others[1:])
    corners = np.array([[sign, other, third, 1.0] for sign in (-1, 1) for other in (-1, 1) for third in (-1, 1)])
    assert (doubted.against(base)(corners)[1] > 2 * process.against(base)(corners)[1]).all()
    ran = np.array([place for place in runs.places if not np.isnan(place[0])])
    assert doubted.expected(ran) == pytest.approx(process.expected(ran), abs=0.05)


def test_the_machine_as_it_is_is_compared_across_blocks_that_drift():
    process = learn(seen(30, shift=1.0))
    gain, error = process.gain(np.array([0.0, -1.0, 0.0, 0.0]))
    assert gain == pytest.approx(0.8, abs=4 * error + 0.02)
    assert error < 0.2
    assert process.drift > 5 * process.noise


def test_one_thread_is_for_within_only():
    before = [library["get"]() for library in _libraries()]
    with one_thread():
        assert {library["get"]() for library in _libraries()} <= {1}
    assert [library["get"]() for library in _libraries()] == before


@pytest.mark.parametrize("factors", [FACTORS, FACTORS[:3]], ids=["choices", "ranges"])
def test_a_covariance_is_the_sum_of_its_parts_as_the_model_has_them(factors):
    rng = np.random.default_rng(2)
    weights = Weights.usual(len(factors))
    weights = Weights(weights.logs + 0.2 * rng.standard_normal(len(weights.logs)))
    columns = Columns(factors)
    first, other = (
        np.array([[rng.integers(3) if factor.choices else rng.uniform(-1, 1) for factor in factors] for _ in range(4)])
        for _ in range(2)
    )
    a, (size, length, _, _) = weights.relevance, weights.others

    def shared(x, y, power):
        """Return what two places have in common in each factor: Columns says what that is."""
        choices = [len(factor.choices) for factor in factors]
        return np.array([
            (1.0 if p == q else -1 / (many - 1)) ** power if many else (p * q) ** power
            for p, q, many in zip(x, y, choices, strict=True)
        ])  # fmt: skip

    def plain(x, y):
        bend = [
            [0.0 if factor.choices else at**2 - 1 / 3 for at, factor in zip(place, factors, strict=True)]
            for place in (x, y)
        ]
        far = sum(
            b * (float(p != q) if factor.choices else (p - q) ** 2)
            for b, p, q, factor in zip(a, x, y, factors, strict=True)
        )
        linear = a @ shared(x, y, 1)
        expected = 25.0 + a**2 @ shared(x, y, 1) + 0.125 * (linear**2 - a**2 @ shared(x, y, 2))
        expected += 0.25 * (a**2 @ (np.array(bend[0]) * bend[1])) + 0.16 * (a @ bend[0]) * (a @ bend[1])
        return expected + size**2 * np.exp(-far / (2 * length**2))

    side, places = Side(CovariancePlaces(columns, first), weights), CovariancePlaces(columns, other)
    wanted = np.array([[plain(x, y) for y in other] for x in first])
    assert side.covariance(places) == pytest.approx(wanted, rel=1e-12)
    assert side.variance(places) == pytest.approx([plain(y, y) for y in other], rel=1e-12)
    by = rng.standard_normal(len(first))
    assert side.weighted(by).at(places) == pytest.approx(by @ wanted, rel=1e-9)
