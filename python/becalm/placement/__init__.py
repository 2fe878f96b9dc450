"""The placement of programs on chips: one interface to all methods.

    place(tasks, chips, costs, method="optimal", seed=0, budget_s=10.0, objective="degradation") -> Placement

`METHODS` is the table: a row describes a method and its needs, and its function takes a `Problem` (problem.py) and
returns the processes on each chip. `simple` has methods without a search, `exact` the optimum, `search` local search;
`learned` predicts; `engine` sends what must be fast to the program becalm-sim. `model` computes costs from the figures
of programs that run alone, `corun` plays tasks on chips through. `becalm place` calls `place`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from becalm import system_clock
from becalm.errors import UsageError
from becalm.placement import exact, learned, search, simple
from becalm.placement.problem import Problem
from becalm.placement.result import FoundPlacement, PlacementSearch
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, Placement, PlacementObjective, Task

BUDGET_S = 10.0
"""The time that a method searches by default, s."""


class Method(msgspec.Struct, frozen=True):
    """A placement method. `words`: its description; `pressure`, `costs`: whether it needs these; `source`: its
    origin."""

    name: str
    decide: Callable[[Problem, PlacementSearch], FoundPlacement]
    words: str
    source: str
    pressure: bool = False
    costs: bool = False


METHODS = (
    Method(
        "optimal", exact.optimal,
        "the placement that costs least, with a proved gap", "Anderson 2013; HiGHS", costs=True,
    ),
    Method("swap", search.swap, "exchanges of two processes, from many starts", "local search", costs=True),
    Method(
        "costs", learned.by_costs,
        "the best placement by costs predicted from runs of single tasks", "weights/costs.json", pressure=True,
    ),
    Method(
        "mlp", lambda problem, search: learned.classified("mlp", problem, search),
        "a small neural network that chooses one of two chips for each task",
        "Anderson 2013; weights/mlp.json", pressure=True,
    ),
    Method(
        "svm", lambda problem, search: learned.classified("svm", problem, search),
        "a support vector machine that chooses one of two chips for each task",
        "Anderson 2013; weights/svm.json", pressure=True,
    ),
    Method(
        "di", lambda problem, _: FoundPlacement(simple.distributed_intensity(problem)),
        "by pressure, the most demanding next to the least", "Blagodurov et al. 2010", pressure=True,
    ),
    Method(
        "di-lp", lambda problem, _: FoundPlacement(simple.di_lp(problem)),
        
            "the placement of DI, improved by a linear program on known costs"
        , "after Anderson 2013", pressure=True, costs=True,
    ),
    Method(
        "linux", lambda problem, _: FoundPlacement(simple.as_linux(problem)),
        "the placement of new tasks by Linux, for comparison", "kernel/sched/fair.c",
    ),
    Method(
        "random", lambda problem, options: FoundPlacement(simple.at_random(problem, options.seed)),
        "a random placement, for comparison", "",
    ),
)  # fmt: skip
"""The methods, in the order of listings."""


def method_named(name: str) -> Method:
    """Return the method with a name. Raises UsageError for an unknown name."""
    for method in METHODS:
        if method.name == name:
            return method
    raise UsageError(f"There is no placement {name!r}. There are: {', '.join(method.name for method in METHODS)}.")


def place(
    tasks: Sequence[Task],
    chips: Sequence[Chip],
    costs: CoRunCosts | None,
    *,
    method: str = "optimal",
    seed: int = 0,
    budget_s: float = BUDGET_S,
    objective: PlacementObjective | str = PlacementObjective.DEGRADATION,
    weights: str | Path | None = None,
) -> Placement:
    """Choose which tasks share which chip.

    Arguments:
        tasks: the tasks to place; a task of several processes takes as many slots, and costs as much as its slowest.
        chips: the sets of CPUs that share a cache, with their room. More processes than room are refused: see
            `in_rounds`.
        costs: the costs of sharing. None only for methods that need none: then the placement's cost is None.
        method: a name of METHODS.
        seed: for random methods; equal seeds give equal answers unless the budget ended the search.
        budget_s: the time for the search, s; the best sharing so far is then the answer, with its gap.
        objective: the quantity that is averaged over the tasks.
        weights: a folder with weights trained by the user, for learned methods.

    Raises UsageError, with the reason, for tasks that cannot be placed, and MachineError without the engine.
    """
    row = method_named(method)
    if not budget_s > 0:
        raise UsageError(f"The budget of a placement must be above 0 s, not {budget_s:g} s.")
    problem = Problem.of(tasks, chips, costs, _objective(objective))
    if row.costs and costs is None:
        raise UsageError(f"The placement {method} needs the costs of sharing a chip, which `becalm corun` measures.")
    begun = system_clock.monotonic_ns()
    placement = row.decide(problem, PlacementSearch(seed, budget_s, None if weights is None else str(weights)))
    spent = system_clock.monotonic_ns() - begun
    cost, lost = (None, {}) if costs is None else problem.worth(placement.sharing)
    return Placement(
        method=method,
        sharing=problem.named(placement.sharing),
        objective=problem.objective,
        origin=CostOrigin.GIVEN if costs is None else costs.origin,
        cost=cost,
        degradation=lost,
        bound=placement.bound,
        seed=seed,
        decision_ns=spent if placement.decision_ns is None else placement.decision_ns,
        out_of_time=placement.out_of_time,
    )


def _objective(name: PlacementObjective | str) -> PlacementObjective:
    try:
        return PlacementObjective(name)
    except ValueError:
        raise UsageError(
            f"There is no objective {name!r} of a placement. There are: {', '.join(PlacementObjective)}."
        ) from None
