"""Rounds: the tasks that run at the same time where all CPUs share one cache, so that no chip separates tasks.

A set is a round instead of a chip; rounds run one after the other, in any order. The cost of a round is its length: its
tasks begin together, none begins again, and the remaining ones run with fewer neighbours (`corun.play` with `drain`).
Costs of pairs add up as slowdowns, D/(1 - D), which are times. `plan` finds the rounds that take the least time
together: a set-partitioning problem over all sets that fit, which for two CPUs is a perfect matching of least weight (a
task without a partner is matched to an idle slot). HiGHS solves it, with a bound. Where there are too many sets to
list, `swap` fills rounds by the losses of tasks, without a bound.

`Rounds.lasts` returns the length of a set's round, `expected` the mean over random rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

from becalm.errors import UsageError
from becalm.placement.problem import MOST_SETS, Problem, Sharing
from becalm.placement.result import FoundPlacement, PlacementSearch
from becalm.placement.search import swap
from becalm.results.place_costs import Chip, CoRunCosts, PlacementObjective, Task, in_rounds

DRAWN = 400
"""The number of random rounds whose mean is used without a formula: for tasks of several processes, or many sets."""


@dataclass(frozen=True)
class Rounds:
    """Tasks that run in rounds on one chip. The members of a set are numbers of tasks; all processes of a task run in
    the same round."""

    problem: Problem
    room: int

    @classmethod
    def of(cls, tasks: Sequence[Task], chip: Chip, costs: CoRunCosts) -> Rounds:
        """Return the rounds of these tasks. Raises UsageError for a task without a time alone, or with too many
        processes."""
        for task in tasks:
            if task.solo_s is None:
                raise UsageError(
                    f"The time that {task.name} takes alone is not known, and rounds are planned by time. Give its "
                    "`solo_s`."
                )
            if task.processes > chip.slots:
                raise UsageError(
                    f"{task.name} has {task.processes} processes, and only {chip.slots} run at a time: it does not "
                    "fit into a round."
                )
        count = sum(task.processes for task in tasks)
        return cls(Problem.of(tasks, in_rounds([chip], count), costs, PlacementObjective.SLOWDOWN), chip.slots)

    @cached_property
    def _items(self) -> tuple[tuple[int, ...], ...]:
        jobs = self.problem.job
        return tuple(tuple(i for i, job in enumerate(jobs) if job == task) for task in range(len(self.problem.tasks)))

    @cached_property
    def solo_s(self) -> tuple[float, ...]:
        """Seconds that each task takes alone."""
        return tuple(task.solo_s or 0.0 for task in self.problem.tasks)

    @cached_property
    def _known(self) -> dict[tuple[int, ...], float]:
        return {}

    def lasts(self, members: tuple[int, ...]) -> float:
        """Return the seconds from the beginning of a round with these tasks to its last end. Raises UsageError for
        unknown costs."""
        if members not in self._known:
            self._known[members] = self._played(members)
        return self._known[members]

    def _played(self, members: tuple[int, ...]) -> float:
        left, running, now = dict.fromkeys(members, 1.0), list(members), 0.0
        if len(members) == 1 and self.problem.tasks[members[0]].processes == 1:
            return self.solo_s[members[0]]
        while running:
            processes = [item for task in running for item in self._items[task]]
            slower = dict.fromkeys(running, -1.0)
            for item, cost in zip(processes, self.problem.losses(processes, self.problem.chips[0]), strict=True):
                task = self.problem.job[item]
                slower[task] = max(slower[task], cost)
            rate = {task: 1 / (self.solo_s[task] * (1 + slower[task])) for task in running}
            step = min(left[task] / rate[task] for task in running)
            now += step
            for task in running:
                left[task] -= step * rate[task]
            running = [task for task in running if left[task] > 1e-12]
        return now

    def total_s(self, sharing: Sharing) -> float:
        """Return the total time of these rounds, s."""
        return math.fsum(self.lasts(tuple(sorted(members))) for members in sharing)

    def lost(self, sharing: Sharing) -> dict[str, float]:
        """Return the degradation of each task, by name, while all tasks of its round run."""
        result: dict[str, float] = {}
        for members in sharing:
            processes = [item for task in members for item in self._items[task]]
            for item, cost in zip(processes, self.problem.losses(processes, self.problem.chips[0]), strict=True):
                name = self.problem.item[item].name
                result[name] = max(cost / (1 + cost), result.get(name, cost / (1 + cost)))
        return result

    def sizes(self, members: Iterable[int]) -> int:
        """Return the number of processes of these tasks."""
        return sum(self.problem.tasks[member].processes for member in members)

    @property
    def countable(self) -> bool:
        """Whether all sets that fit can be listed."""
        return sum(math.comb(len(self.solo_s), size) for size in range(1, self.room + 1)) <= MOST_SETS

    def sets(self) -> Iterator[tuple[tuple[int, ...], float]]:
        """Yield all sets that fit and have known costs, with the time of each, s."""
        for size in range(1, min(self.room, len(self.solo_s)) + 1):
            for members in combinations(range(len(self.solo_s)), size):
                if self.sizes(members) > self.room:
                    continue
                try:
                    seconds = self.lasts(members)
                except UsageError:
                    # The costs of these tasks to each other are unknown: they do not run together.
                    if size == 1:
                        raise
                    continue
                yield members, seconds

    def expected(self) -> float:
        """Return the mean total time of rounds that are filled at random, all but the last one fully, s. Raises
        UsageError for unknown costs."""
        count = len(self.solo_s)
        if not (self.problem.single and self.countable):
            return math.fsum(self.total_s(sharing) for sharing in self.drawn(DRAWN)) / DRAWN
        full, rest = divmod(count, self.room)
        mean = 0.0
        for size, often in ((self.room, full), (rest, 1)):
            if size and often:
                sets = [self.lasts(combination) for combination in combinations(range(count), size)]
                mean += often * math.fsum(sets) / len(sets)
        return mean

    def drawn(self, count: int, seed: int = 0) -> Iterator[Sharing]:
        """Yield rounds that are filled with tasks in random order."""
        random = Random(seed)
        for _ in range(count):
            order, rounds = list(range(len(self.solo_s))), [[]]  # type: list[int], list[list[int]]
            random.shuffle(order)
            for task in order:
                if self.sizes([*rounds[-1], task]) > self.room:
                    rounds.append([])
                rounds[-1].append(task)
            yield tuple(tuple(sorted(members)) for members in rounds)

    def named(self, sharing: Sharing) -> tuple[tuple[str, ...], ...]:
        """Return the names in each round; a task of several processes is there once."""
        return tuple(tuple(self.problem.tasks[member].name for member in members) for members in sharing)


def plan(rounds: Rounds, search: PlacementSearch, *, longest: bool = False) -> FoundPlacement:
    """Return the rounds with the shortest total time, or the longest (`longest`), the longest round first, with a bound
    in seconds if it is proved. Where time runs out, they are the best that were found."""
    if not rounds.countable:
        return _filled(rounds, search)
    sets = list(rounds.sets())
    # The worst is searched among rounds that are as full as possible: running one after the other is not sharing.
    if longest:
        fewest = -(-rounds.sizes(range(len(rounds.solo_s))) // rounds.room)
    sign = -1.0 if longest else 1.0
    column = np.repeat(np.arange(len(sets)), [len(members) for members, _ in sets])
    row = np.concatenate([members for members, _ in sets])
    matrix = csr_matrix((np.ones(len(row)), (row, column)), shape=(len(rounds.solo_s), len(sets)))
    constraints = [LinearConstraint(matrix, 1, 1)]
    if longest:
        constraints.append(LinearConstraint(np.ones((1, len(sets))), 0, fewest))
    solution: Any = milp(
        np.array([sign * seconds for _, seconds in sets]),
        integrality=np.ones(len(sets), dtype=int),
        bounds=Bounds(0, 1),
        constraints=constraints,
        options={"time_limit": search.budget_s, "mip_rel_gap": 0.0},
    )
    if solution.x is None:
        return _filled(rounds, search)
    chosen = [sets[index] for index in np.flatnonzero(solution.x > 0.5)]
    ordered = tuple(members for members, _ in sorted(chosen, key=lambda row: (-row[1], row[0])))
    dual = getattr(solution, "mip_dual_bound", None)
    bound = None if dual is None or not np.isfinite(dual) else sign * float(dual)
    return FoundPlacement(ordered, bound, out_of_time=solution.status == 1)


def _filled(rounds: Rounds, search: PlacementSearch) -> FoundPlacement:
    """Return as few rounds as possible, filled by the losses of tasks; one round for each task if tasks have several
    processes or costs are missing."""
    problem = rounds.problem
    if problem.single:
        try:
            placement = swap(problem, search)
        except UsageError:
            pass
        else:
            ordered = sorted(
                (members for members in placement.sharing if members),
                key=lambda members: (-rounds.lasts(members), members),
            )
            return FoundPlacement(tuple(ordered), None, placement.decision_ns, placement.out_of_time)
    alone = tuple((task,) for task in range(len(rounds.solo_s)))
    return FoundPlacement(alone, None, out_of_time=True)
