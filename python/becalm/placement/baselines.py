"""Baselines for a sharing: the mean of all sharings, which chance gives on average, and the worst one.

    expected(problem) -> mean cost
    worst(problem, search) -> Sharing

Linux does not know the costs: where tasks run depends on the order in which they started. Both are exact where all sets
can be listed and tasks are single processes; otherwise they are of `DRAWN` random sharings, with fixed seeds.
"""

from __future__ import annotations

import math

from becalm.placement.exact import by_columns
from becalm.placement.problem import Problem, Sharing
from becalm.placement.result import PlacementSearch
from becalm.placement.simple import at_random

DRAWN = 400


def expected(problem: Problem) -> float:
    """Return the mean cost over all ways to put processes into slots. Raises UsageError for unknown costs."""
    if not (problem.single and problem.countable):
        return math.fsum(problem.worth(at_random(problem, seed))[0] for seed in range(DRAWN)) / DRAWN
    items, slots = len(problem.item), sum(problem.rooms)
    total = 0.0
    for number, room in enumerate(problem.rooms):
        for members, lost in problem.table(number):
            # The share of orders of all processes with exactly these members on this chip, in any order.
            there = math.perm(room, len(members)) * math.perm(slots - room, items - len(members))
            total += there / math.perm(slots, items) * math.fsum(lost)
    return total / len(problem.tasks)


def worst(problem: Problem, search: PlacementSearch) -> Sharing:
    """Return the sharing with the highest cost, or the worst of many drawn ones. Raises UsageError for unknown
    costs."""
    if problem.single and problem.countable:
        against = _Opposite(problem.tasks, problem.chips, problem.costs, problem.objective)
        placement = by_columns(against, search)
        if not placement.out_of_time:
            return placement.sharing
    return max((at_random(problem, seed) for seed in range(DRAWN)), key=lambda sharing: problem.worth(sharing)[0])


class _Opposite(Problem):
    """A problem with negated costs: its cheapest sharing is the worst one of the original."""

    def table(self, number: int) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
        """Return all sets that a chip may get, with the losses of their members, negative."""
        return [(members, tuple(-loss for loss in lost)) for members, lost in super().table(number)]
