"""Costs fitted to times: of a model whose costs are known."""

import math

import numpy as np
import pytest

from becalm.analysis.simulate_calibration import SimulatedTime, adjust_r_squared, fit, r_squared
from becalm.results.simulate_calibration import USUAL, Costs, Size


def paid(costs, groups, switching=1.0):
    """Return the costs of messages and switches, which grow with the groups, and of wake-ups, with their square root;
    switches are fewer when dear."""
    switches = 40 * switching * groups**1.5 * (costs.message_ns / costs.switch_ns) ** 0.3
    return 2000 * groups * costs.message_ns, 300 * groups**0.5 * costs.wakeup_ns, switches * costs.switch_ns


def model(costs, case):
    """Return the time of a case; tasks that preempt nobody when they wake switch a tenth as often."""
    groups, policy = case
    spent = paid(costs, groups, 0.1 if policy == "batch" else 1.0)
    return SimulatedTime(sum(spent), 0.0, tuple(cost / sum(spent) for cost in spent))


CASES = [(groups, policy) for groups in (2, 6) for policy in ("other", "batch")]


def test_the_fit_predicts_what_it_has_not_seen():
    true = Costs(2500.0, 1200.0, 1500.0)
    costs = fit({case: (model(true, case).ns, 0.01 * model(true, case).ns) for case in CASES}, model)
    assert costs.message_ns == pytest.approx(2500, rel=0.05)
    for groups in (4, 10, 20):
        assert model(costs, (groups, "other")).ns == pytest.approx(model(true, (groups, "other")).ns, rel=0.03)


def test_dear_switches_are_found_though_each_simulation_takes_another_course():
    """Means of simulations that are off by a fifth, each time in another way: 12 machines."""
    rng = np.random.default_rng(1)

    def noisy(costs, case):
        value, off = model(costs, case), 0.2 if case[1] == "other" else 0.01
        return value._replace(ns=value.ns * math.exp(rng.normal(0, off / 2)), error_ns=value.ns * off / 2)

    for _ in range(12):
        true = Costs(*(np.array([3000, 3000, 90_000]) * np.exp(rng.normal(0, [1.0, 0.5, 0.5]))))
        result = fit({case: (model(true, case).ns, 0.01 * model(true, case).ns) for case in CASES}, noisy)
        for groups in (4, 10, 20):
            assert model(result, (groups, "other")).ns == pytest.approx(model(true, (groups, "other")).ns, rel=0.1)


def test_default_costs_are_fitted_to_a_default_machine():
    costs = fit({case: (model(USUAL, case).ns, 1e5) for case in CASES}, model)
    assert (costs.message_ns, costs.switch_ns) == pytest.approx((USUAL.message_ns, USUAL.switch_ns), rel=0.05)


def test_a_machine_that_is_slower_in_all_keeps_the_proportions():
    slow = Costs(*(30 * cost for cost in (USUAL.message_ns, USUAL.wakeup_ns, USUAL.switch_ns)))
    costs = fit({case: (model(slow, case).ns, 1e5) for case in CASES}, model)
    assert (costs.message_ns, costs.switch_ns) == pytest.approx((slow.message_ns, slow.switch_ns), rel=0.05)


def sizes(simulated, error=0.0):
    return [Size(n, 100.0 * n, error, value, False) for n, value in enumerate(simulated, 1)]


def test_r_squared_by_hand():
    assert r_squared(sizes([50.0, 100.0, 150.0])) == pytest.approx((1.0, 1.0))
    # Of the line through (1, 100), (2, 200), (2, 300): slope 150, offset -50, residuals 0, -50, 50.
    assert r_squared(sizes([1.0, 2.0, 2.0])) == pytest.approx((1 - 5000 / 20000, 1.0))
    assert r_squared(sizes([50.0, 100.0, 150.0], error=30.0))[1] == pytest.approx(1 - 900 / 20000)


def test_adjusted_r_squared_counts_the_two_coefficients():
    # 10 points: 1 - 0.01 * 9 / 8
    assert adjust_r_squared(0.99, 10) == pytest.approx(0.98875)


def test_of_two_sizes_and_of_equal_ones_there_is_none():
    assert r_squared(sizes([1.0, 2.0])) is None
    assert r_squared(sizes([5.0, 5.0, 5.0])) is None
