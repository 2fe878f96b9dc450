"""Placements of any tasks on any chips: complete, within rooms, and never better than what is proved."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.samples import samples

from becalm.placement import METHODS, place
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, PairCost, PlacementObjective, Task

GENERAL = [method.name for method in METHODS if method.name not in ("mlp", "svm", "optimal")]
"""The methods that place any number of tasks."""

COST = st.floats(0, 0.3)

PROVED = 1e-6
"""The distance from the optimum within which HiGHS proves a sum of costs (its `mip_abs_gap`), however small the sum
is."""


@st.composite
def problems(draw):
    """Draw up to six processes, chips that have room for them, and costs of all pairs."""
    sizes = draw(st.lists(st.integers(1, 2), min_size=1, max_size=4).filter(lambda item: sum(item) <= 6))
    numbers = st.floats(0.01, 30)
    tasks = [
        Task(f"t{at}", 1.0, size, draw(numbers), draw(COST), draw(numbers), draw(st.integers(0, 1)), draw(COST))
        for at, size in enumerate(sizes)
    ]
    rooms = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).filter(lambda item: sum(item) >= sum(sizes)))
    chips = [Chip(room, 1, draw(st.integers(0, 1))) for room in rooms]
    names = [task.name for task in tasks]
    pairs = tuple(PairCost(name, other, draw(COST)) for name in names for other in names)
    return tasks, chips, CoRunCosts(CostOrigin.GIVEN, pairs=pairs)


@settings(max_examples=samples(15, 200), deadline=None)
@given(problems(), st.sampled_from(PlacementObjective), st.integers(0, 3))
def test_any_placement_is_complete_fits_and_is_not_better_than_the_optimum(problem, objective, seed):
    tasks, chips, costs = problem
    best = place(tasks, chips, costs, objective=objective)
    assert best.cost - best.bound <= PROVED
    for method in GENERAL:
        placement = place(tasks, chips, costs, method=method, seed=seed, objective=objective)
        assert Counter(name for names in placement.sharing for name in names) == {
            task.name: task.processes for task in tasks
        }
        assert all(len(names) <= chip.slots for names, chip in zip(placement.sharing, chips, strict=True))
        assert placement.cost >= best.cost - PROVED
