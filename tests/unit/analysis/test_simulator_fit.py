"""Costs fitted to times: of a model whose costs are known."""

import pytest

from becalm.analysis.simulator_fit import fit, r_squared
from becalm.nouns.calibration import USUAL, Costs, Size


def model(costs, groups, switching=1.0):
    """Messages and switches grow with the groups, wake-ups with their square root."""
    switches = 40 * switching * groups**1.5
    return 2000 * groups * costs.message_ns + 300 * groups**0.5 * costs.wakeup_ns + switches * costs.switch_ns


def either(costs, case):
    """Tasks that preempt nobody when they wake switch a tenth as often."""
    groups, policy = case
    return model(costs, groups, 0.1 if policy == "batch" else 1.0)


def test_the_fit_predicts_what_it_has_not_seen():
    true = Costs(2500.0, 1200.0, 1500.0)
    cases = [(groups, policy) for groups in (2, 6) for policy in ("other", "batch")]
    measured = {case: (either(true, case), 0.01 * either(true, case)) for case in cases}
    found = fit(measured, either)
    assert found.message_ns == pytest.approx(2500, rel=0.05)
    for groups in (4, 10, 20):
        assert model(found, groups) == pytest.approx(model(true, groups), rel=0.03)


def test_what_is_as_usual_stays_so():
    measured = {groups: (model(USUAL, groups), 1e5) for groups in (2, 6)}
    found = fit(measured, model)
    assert (found.message_ns, found.switch_ns) == pytest.approx((USUAL.message_ns, USUAL.switch_ns), rel=0.05)


def sizes(simulated, error=0.0):
    return [Size(n, 100.0 * n, error, value, False) for n, value in enumerate(simulated, 1)]


def test_r_squared_by_hand():
    assert r_squared(sizes([50.0, 100.0, 150.0])) == pytest.approx((1.0, 1.0))
    # Of the line through (1, 100), (2, 200), (2, 300): slope 150, offset -50, residuals 0, -50, 50.
    assert r_squared(sizes([1.0, 2.0, 2.0])) == pytest.approx((1 - 5000 / 20000, 1.0))
    assert r_squared(sizes([50.0, 100.0, 150.0], error=30.0))[1] == pytest.approx(1 - 900 / 20000)


def test_of_two_sizes_and_of_equal_ones_there_is_none():
    assert r_squared(sizes([1.0, 2.0])) is None
    assert r_squared(sizes([5.0, 5.0, 5.0])) is None
