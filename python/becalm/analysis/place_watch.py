"""Tasks that come and go, followed without flapping: one step is a pure function of what runs and what was before.

    step(state, running, at_s, model, limits) -> (state, why)

A new task goes where it costs least, and nobody moves for it. Those who run are placed anew only when the best sharing
is better by more than twice the noise of that difference and what moving costs, and not sooner than `every_s` after the
last time (hysteresis: what is gained by a change must be more than what could be an error in either direction).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linear_sum_assignment

from becalm.analysis.place_gain import dearest, filled
from becalm.errors import UsageError
from becalm.placement import place
from becalm.placement.problem import Problem
from becalm.results.place import SURE
from becalm.results.place_costs import Chip, CoRunCosts, PlacementObjective, Task
from becalm.wording import place_running as wording

BUDGET_S = 1.0


@dataclass(frozen=True, slots=True)
class SharingModel:
    """All tasks that may run, the chips, and what sharing costs."""

    tasks: tuple[Task, ...]
    chips: tuple[Chip, ...]
    costs: CoRunCosts
    objective: PlacementObjective = PlacementObjective.DEGRADATION


@dataclass(frozen=True, slots=True)
class Limits:
    """`every_s`: who runs is placed anew at most so often; `moving`: what a move must bring at least, a share of speed
    averaged over the tasks, for each task that moves (its cache is cold afterwards)."""

    every_s: float = 30.0
    moving: float = 0.002


@dataclass(frozen=True, slots=True)
class RunningState:
    """The chip of each task that runs, by name, and when who runs was last placed anew."""

    chips: Mapping[str, int] = field(default_factory=dict)
    placed_s: float = -math.inf


def step(
    state: RunningState,
    running: Iterable[str],
    at_s: float,
    model: SharingModel,
    limits: Limits = Limits(),
) -> tuple[RunningState, str]:
    """The next state, and why it is another one; "" where nothing changes.

    Arguments:
        running: names of the tasks that run now; those without room on any chip stay unplaced.
        at_s: seconds on a clock that only goes forward.

    Raises UsageError for tasks that the model does not have.
    """
    order = [task.name for task in model.tasks]
    now = [name for name in order if name in set(running)]
    if unknown := set(running) - set(order):
        raise UsageError(wording.no_task(min(unknown), order))
    kept = {name: chip for name, chip in state.chips.items() if name in now}
    gone = [name for name in state.chips if name not in kept]
    came = []
    for name in now:
        if name not in kept and (chip := _cheapest(kept, name, model)) is not None:
            kept[name] = chip
            came.append(name)
    said = wording.came_and_went(came, gone) if came or gone else ""
    if at_s - state.placed_s < limits.every_s or len(kept) < 2:
        return RunningState(kept, state.placed_s), said
    better = _better(kept, model)
    if better is None:
        return RunningState(kept, state.placed_s), said
    gain, noise, chips = better
    needed = SURE * noise + limits.moving * sum(chips[name] != kept[name] for name in kept)
    if gain <= needed:
        return RunningState(kept, state.placed_s), said
    return RunningState(chips, at_s), wording.worth_moving(gain, needed)


def _known(names: Iterable[str], model: SharingModel) -> tuple[tuple[Task, ...], CoRunCosts]:
    chosen = set(names)
    tasks = tuple(task for task in model.tasks if task.name in chosen)
    return tasks, filled(model.costs, tasks, dearest(model.costs))


def _cost(where: Mapping[str, int], model: SharingModel) -> float:
    """The sum over the tasks."""
    tasks, costs = _known(where, model)
    problem = Problem.of(tasks, model.chips, costs, model.objective)
    chip_of = [where[problem.item[number].name] for number in range(len(problem.item))]
    sharing = tuple(
        tuple(number for number, at in enumerate(chip_of) if at == chip) for chip in range(len(model.chips))
    )
    return problem.worth(sharing)[0] * len(tasks)


def _cheapest(where: Mapping[str, int], name: str, model: SharingModel) -> int | None:
    """The chip where a task adds the least to what all lose, the emptiest of equal ones; None: there is no room."""
    size = {task.name: task.processes for task in model.tasks}
    free = [chip.slots for chip in model.chips]
    for other, chip in where.items():
        free[chip] -= size[other]
    room = [chip for chip, left in enumerate(free) if left >= size[name]]
    return min(room, key=lambda chip: (_cost({**where, name: chip}, model), -free[chip], chip), default=None)


def _better(where: Mapping[str, int], model: SharingModel) -> tuple[float, float, dict[str, int]] | None:
    """What the best sharing gains over this one, on average, with its noise, and its chips; None: it is none."""
    tasks, costs = _known(where, model)
    if any(task.processes > 1 for task in tasks):
        return None
    found = place(tasks, model.chips, costs, objective=model.objective, budget_s=BUDGET_S)
    chips = _alike(where, found.sharing, model.chips)
    gain = (_cost(where, model) - _cost(chips, model)) / len(tasks)
    return None if gain <= 0 else (gain, _noise(where, chips, costs, len(tasks)), chips)


def _alike(where: Mapping[str, int], sharing: Sequence[Sequence[str]], chips: Sequence[Chip]) -> dict[str, int]:
    """The sharing with sets on those of chips that are alike where fewest tasks move."""
    cost = np.zeros((len(chips), len(chips)))
    for index, names in enumerate(sharing):
        for chip, other in enumerate(chips):
            same = (other.slots, other.threads, other.node) == (
                chips[index].slots, chips[index].threads, chips[index].node,
            )  # fmt: skip
            moves = sum(where[name] != chip for name in names)
            cost[index, chip] = moves if same else 1e6
    rows, columns = linear_sum_assignment(cost)
    at = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    return {name: at[index] for index, names in enumerate(sharing) for name in names}


def _noise(one: Mapping[str, int], other: Mapping[str, int], costs: CoRunCosts, tasks: int) -> float:
    """The standard error of the difference of two sharings: of pairs that are together in one of them alone."""
    together = [{(a, b) for a in where for b in where if a != b and where[a] == where[b]} for where in (one, other)]
    differ = together[0] ^ together[1]
    variance = math.fsum((pair.error or 0.0) ** 2 for pair in costs.pairs if (pair.task, pair.beside) in differ)
    return math.sqrt(variance) / tasks
