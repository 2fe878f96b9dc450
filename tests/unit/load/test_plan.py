"""Plans of runs next to known load."""

import numpy as np
import pytest

from becalm.errors import UsageError
from becalm.load.plan import FACTORS, MEMORY_LIMIT, REFERENCE_EVERY, LoadFactor, design, inflations

ALL = [LoadFactor("cpu", 4.0), LoadFactor("memory", 2.0**28), LoadFactor("disk", 1e8), LoadFactor("network", 2e8)]


def drawn(runs=30, seed=1, factors=ALL):
    return design(factors, runs, np.random.default_rng(seed), "/x")


@pytest.mark.parametrize("runs", [20, 33, 60])
@pytest.mark.parametrize("seed", range(3))
def test_loads_can_be_told_apart(runs, seed):
    plan = drawn(runs, seed)
    assert len(plan.steps) == runs
    assert set(plan.inflation) == {entry.name for entry in ALL}
    assert 1.0 <= plan.worst < 1.2
    loaded = [step for step in plan.steps if not step.reference]
    table = np.array([[step.levels[entry.name] for entry in ALL] for step in loaded])
    assert np.allclose(inflations(table), list(plan.inflation.values()))
    # A Latin hypercube: each column has one level in each of as many equal intervals.
    for column, factor in zip(table.T, ALL, strict=True):
        assert sorted((column / factor.high * len(loaded)).astype(int)) == list(range(len(loaded)))


def test_so_little_of_a_processor_that_it_cannot_be_made_is_no_load():
    plan = drawn(20, factors=[LoadFactor("cpu", 0.1)])
    loads = {step.levels["cpu"]: step.demand for step in plan.steps if not step.reference}
    assert {level for level, load in loads.items() if load.empty} == {level for level in loads if level < 0.01}
    assert min(loads) < 0.01 < max(loads)


def test_variance_inflation_is_that_of_the_regression_on_the_others():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 3))
    x[:, 2] += x[:, 0]
    for index in range(3):
        others = np.column_stack([np.ones(40), np.delete(x, index, axis=1)])
        rest = x[:, index] - others @ np.linalg.lstsq(others, x[:, index], rcond=None)[0]
        r_squared = 1 - rest.var() / x[:, index].var()
        assert inflations(x)[index] == pytest.approx(1 / (1 - r_squared))
    assert np.isinf(inflations(np.column_stack([x[:, 0], 2 * x[:, 0]]))).all()
    assert np.isinf(inflations(np.column_stack([x[:, 0], np.ones(40)]))).all(), "a load that never changes"


def test_unloaded_runs_lie_in_between_and_all_in_random_order():
    plan = drawn(30)
    references = [index for index, step in enumerate(plan.steps) if step.reference]
    assert len(references) == 30 // REFERENCE_EVERY
    assert [index // REFERENCE_EVERY for index in references] == list(range(len(references)))
    assert len({index % REFERENCE_EVERY for index in references}) > 1, "at no fixed place"
    order = [step.levels["cpu"] for step in plan.steps if not step.reference]
    assert abs(np.corrcoef(order, range(len(order)))[0, 1]) < 0.6
    assert all(step.demand.empty is step.reference for step in plan.steps)


def test_a_seed_gives_the_same_plan_and_another_one_another():
    assert drawn(seed=5) == drawn(seed=5)
    assert drawn(seed=5) != drawn(seed=6)


def test_levels_become_demands():
    plan = drawn()
    step = next(step for step in plan.steps if not step.reference)
    demand = step.demand
    assert demand.cpu == step.levels["cpu"]
    assert demand.memory_bytes - demand.limit_bytes == round(step.levels["memory"])
    assert (demand.limit_bytes, demand.disk_directory) == (MEMORY_LIMIT, "/x")
    assert (demand.disk_rate, demand.network_rate) == (round(step.levels["disk"]), round(step.levels["network"]))
    planned = plan.planned
    assert planned.steps[plan.steps.index(step)] == step.levels
    assert planned.factors == {factor.name: factor.high for factor in ALL}


@pytest.mark.parametrize("name", FACTORS)
def test_one_factor_alone_is_a_plan(name):
    plan = drawn(20, factors=[LoadFactor(name, 1e8 if name != "cpu" else 2.0)])
    assert plan.inflation == {name: 1.0}


def test_invalid_plans_are_refused():
    for runs in (19, 61):
        with pytest.raises(UsageError, match="20 to 60"):
            drawn(runs)
    with pytest.raises(UsageError, match="at least one"):
        drawn(factors=[])
