"""The placement of tasks that come and go, without flapping: one step is a pure function of the state and the tasks.

step(state, running, at_s, model, limits) -> (state, reason)

A new task goes where it costs least, and no other task moves for it. Running tasks are placed anew at the earliest
`every_s` after the last time, and only when the gain of the best sharing exceeds twice its noise plus the cost of
moving (hysteresis: the gain must exceed a possible error in either direction).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
from scipy.optimize import linear_sum_assignment

from becalm.analysis.place_gain import fill_missing, largest_cost
from becalm.errors import UsageError
from becalm.placement import place
from becalm.placement.problem import Problem
from becalm.results.place import SURE
from becalm.results.place_costs import Chip, CoRunCosts, PlacementObjective, Task
from becalm.wording import place_running as wording

BUDGET_S = 1.0


class SharingModel(msgspec.Struct, frozen=True):
    """The tasks that may run, the chips, and the costs of sharing them."""

    tasks: tuple[Task, ...]
    chips: tuple[Chip, ...]
    costs: CoRunCosts
    objective: PlacementObjective = PlacementObjective.DEGRADATION


class Limits(msgspec.Struct, frozen=True):
    """The limits of moving tasks: running tasks are placed anew at most once in `every_s` seconds.

    `moving`: the least gain for each task that moves, a share of speed averaged over the tasks (its cache is cold
    afterwards).
    """

    every_s: float = 30.0
    moving: float = 0.002


class RunningState(msgspec.Struct, frozen=True):
    """The chip of each running task, by name, and the time in seconds at which running tasks were last placed anew."""

    chips: Mapping[str, int] = msgspec.field(default_factory=dict)
    placed_s: float = -math.inf


def step(
    state: RunningState,
    running: Iterable[str],
    at_s: float,
    model: SharingModel,
    limits: Limits = Limits(),
) -> tuple[RunningState, str]:
    """Return the next state and the reason for the change, "" without a change.

    Arguments:
        running: names of the tasks that run now; those without room on any chip stay unplaced.
        at_s: seconds on a clock that only goes forward.

    Raises UsageError for tasks that the model does not have.
    """
    order = [task.name for task in model.tasks]
    present = [name for name in order if name in set(running)]
    if unknown := set(running) - set(order):
        raise UsageError(wording.no_task(min(unknown), order))
    chip_of = {name: chip for name, chip in state.chips.items() if name in present}
    gone = [name for name in state.chips if name not in chip_of]
    arrived = []
    for name in present:
        if name not in chip_of and (chip := _cheapest(chip_of, name, model)) is not None:
            chip_of[name] = chip
            arrived.append(name)
    reason = wording.came_and_went(arrived, gone) if arrived or gone else ""
    if at_s - state.placed_s < limits.every_s or len(chip_of) < 2:
        return RunningState(chip_of, state.placed_s), reason
    improvement = _improvement(chip_of, model)
    if improvement is None:
        return RunningState(chip_of, state.placed_s), reason
    gain, noise, chips = improvement
    least_gain = SURE * noise + limits.moving * sum(chips[name] != chip_of[name] for name in chip_of)
    if gain <= least_gain:
        return RunningState(chip_of, state.placed_s), reason
    return RunningState(chips, at_s), wording.worth_moving(gain, least_gain)


def _tasks_and_costs(names: Iterable[str], model: SharingModel) -> tuple[tuple[Task, ...], CoRunCosts]:
    selected = set(names)
    tasks = tuple(task for task in model.tasks if task.name in selected)
    return tasks, fill_missing(model.costs, tasks, largest_cost(model.costs))


def _cost(chip_of_task: Mapping[str, int], model: SharingModel) -> float:
    """Return the cost of a sharing, summed over its tasks."""
    tasks, costs = _tasks_and_costs(chip_of_task, model)
    problem = Problem.of(tasks, model.chips, costs, model.objective)
    chips = [chip_of_task[problem.item[number].name] for number in range(len(problem.item))]
    sharing = tuple(
        tuple(number for number, place in enumerate(chips) if place == chip) for chip in range(len(model.chips))
    )
    return problem.worth(sharing)[0] * len(tasks)


def _cheapest(chip_of_task: Mapping[str, int], name: str, model: SharingModel) -> int | None:
    """Return the chip where a task adds least to all losses, the emptiest of equals; None where there is no room."""
    size = {task.name: task.processes for task in model.tasks}
    free = [chip.slots for chip in model.chips]
    for other, chip in chip_of_task.items():
        free[chip] -= size[other]
    candidates = [chip for chip, slots in enumerate(free) if slots >= size[name]]
    return min(
        candidates, key=lambda chip: (_cost({**chip_of_task, name: chip}, model), -free[chip], chip), default=None
    )


def _improvement(chip_of_task: Mapping[str, int], model: SharingModel) -> tuple[float, float, dict[str, int]] | None:
    """Return the average gain of the best sharing over this one, its noise, and its chips; None without a gain."""
    tasks, costs = _tasks_and_costs(chip_of_task, model)
    if any(task.processes > 1 for task in tasks):
        return None
    placement = place(tasks, model.chips, costs, objective=model.objective, budget_s=BUDGET_S)
    chips = _with_fewest_moves(chip_of_task, placement.sharing, model.chips)
    gain = (_cost(chip_of_task, model) - _cost(chips, model)) / len(tasks)
    return None if gain <= 0 else (gain, _noise(chip_of_task, chips, costs, len(tasks)), chips)


def _with_fewest_moves(
    chip_of_task: Mapping[str, int], sharing: Sequence[Sequence[str]], chips: Sequence[Chip]
) -> dict[str, int]:
    """Return the chip of each task, with sets assigned among identical chips such that the fewest tasks move."""
    cost = np.zeros((len(chips), len(chips)))
    for index, names in enumerate(sharing):
        for chip, other in enumerate(chips):
            same = (other.slots, other.threads, other.node) == (
                chips[index].slots, chips[index].threads, chips[index].node,
            )  # fmt: skip
            moves = sum(chip_of_task[name] != chip for name in names)
            cost[index, chip] = moves if same else 1e6
    rows, columns = linear_sum_assignment(cost)
    chip_of_set = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    return {name: chip_of_set[index] for index, names in enumerate(sharing) for name in names}


def _noise(first: Mapping[str, int], second: Mapping[str, int], costs: CoRunCosts, tasks: int) -> float:
    """Return the standard error of the difference of two sharings, from the pairs that share a chip in only one of
    them."""
    pairs_together = [
        {(a, b) for a in sharing for b in sharing if a != b and sharing[a] == sharing[b]} for sharing in (first, second)
    ]
    different_pairs = pairs_together[0] ^ pairs_together[1]
    variance = math.fsum(
        (pair.error or 0.0) ** 2 for pair in costs.pairs if (pair.task, pair.alongside) in different_pairs
    )
    return math.sqrt(variance) / tasks
