"""Placements without a search: DI, random, as Linux spreads new tasks, and DI-LP."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from scipy.optimize import linear_sum_assignment

from becalm.errors import UsageError
from becalm.placement.problem import Problem, Sharing


def by_pressure(problem: Problem) -> list[int]:
    """Return processes by pressure, highest first, ties in order. Raises UsageError for a task without a pressure."""
    for task in problem.tasks:
        if task.pressure is None:
            raise UsageError(
                f"This method sorts by pressure, and the pressure of {task.name} is not known. Choose `optimal` or "
                "`swap`."
            )
    return sorted(range(len(problem.item)), key=lambda item: -(problem.item[item].pressure or 0.0))


def distributed_intensity(problem: Problem) -> Sharing:
    """Return DI's sharing (Blagodurov et al. 2010; Anderson 2013): by pressure, the first and the last process go to
    one chip, the next such pair to the next chip, in turn. A full chip is skipped; of a pair that does not fit, the
    heavier process stays."""
    order = by_pressure(problem)
    chips: list[list[int]] = [[] for _ in problem.rooms]
    at = 0
    while order:
        while len(chips[at]) == problem.rooms[at]:
            at = (at + 1) % len(chips)
        chips[at].append(order.pop(0))
        if order and len(chips[at]) < problem.rooms[at]:
            chips[at].append(order.pop())
        at = (at + 1) % len(chips)
    return _as_sharing(chips)


def at_random(problem: Problem, seed: int) -> Sharing:
    """Return a sharing with every process in a random slot."""
    slots = [chip for chip, room in enumerate(problem.rooms) for _ in range(room)]
    drawn = Random(seed).sample(slots, len(problem.item))
    return _as_sharing(
        [[item for item, slot in enumerate(drawn) if slot == chip] for chip in range(len(problem.rooms))]
    )


def as_linux(problem: Problem) -> Sharing:
    """Return the sharing of Linux for new processes on otherwise idle chips: each process goes to the chip with the
    smallest busy share, the first of equals (find_idlest_group(), kernel/sched/fair.c). It does not know the costs.
    """
    chips: list[list[int]] = [[] for _ in problem.rooms]
    for item in range(len(problem.item)):
        free = [chip for chip, room in enumerate(problem.rooms) if len(chips[chip]) < room]
        chips[min(free, key=lambda chip: len(chips[chip]) / problem.rooms[chip])].append(item)
    return _as_sharing(chips)


def di_lp(problem: Problem) -> Sharing:
    """Place by DI's sets, improved by a linear program, after ModLP (Anderson 2013).

    ModLP predicts costs by M5'; here the known costs are used. DI's sets are home sets. The program minimises
    Σ c_ij·x_ij, with each task on one chip, and as many tasks on each chip as in DI's sharing. c_ij, the loss of task j
    on chip i, is its cost at home; elsewhere it is the mean over the members that it may replace. The linear program is
    an assignment problem, whose solution is integral.
    """
    home = distributed_intensity(problem)
    matrix = np.empty((len(problem.chips), len(problem.item)))
    for chip, members in enumerate(home):
        for item in range(len(problem.item)):
            if item in members:
                sets = [tuple(members)]
            else:
                # On an empty chip it would be alone.
                sets = [(*(other for other in members if other != gone), item) for gone in members] or [(item,)]
            lost = [problem.losses(some, problem.chips[chip])[some.index(item)] for some in sets]
            matrix[chip, item] = np.mean(lost) + problem.away[item, chip]
    slots = [chip for chip, members in enumerate(home) for _ in members]
    rows, columns = linear_sum_assignment(matrix[slots])
    chips: list[list[int]] = [[] for _ in home]
    for row, column in zip(rows, columns, strict=True):
        chips[slots[row]].append(int(column))
    return _as_sharing(chips)


def _as_sharing(chips: Sequence[Sequence[int]]) -> Sharing:
    return tuple(tuple(sorted(chip)) for chip in chips)
