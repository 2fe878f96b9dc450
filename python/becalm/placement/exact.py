"""The best sharing: from tables of all sets where these are few, by HiGHS, or by column generation where they are many.

A sharing is a set of columns, one for each chip, that contain each process once: a set-partitioning problem. `optimal`
chooses the method: dynamic programming up to 20 processes, HiGHS while the sets can be listed. Beyond that, costs are
those of pairs: local search finds a sharing, and a linear program over columns that are generated on demand bounds its
cost (Dantzig & Wolfe 1960; the bound is Lagrange's).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_matrix

from becalm import system_clock
from becalm.errors import UsageError
from becalm.placement.engine import ask
from becalm.placement.problem import Problem, Sharing
from becalm.placement.result import FoundPlacement, PlacementSearch, sharing_of
from becalm.placement.search import swap

TABLE_ITEMS = 12
"""The number of processes up to which a table has all sets; beyond it, only if all chips are alike."""

ALIKE_ITEMS, MOST_ITEMS, SMALL_ROOM = 16, 20, 4
"""The limits for alike chips: 16 processes on any, 20 on chips of at most four slots, or on two chips."""

SMOOTHED = 0.6
"""The share of the old prices in those for which columns are made (Wentges 1997); without it prices oscillate."""

PRECISION = 1e-9

SHARE_OF_SWAP, SHARE_OF_COLUMNS = 0.2, 0.7
"""The shares of the budget for a first sharing, and for columns; the rest is for the best sharing of these columns."""


def optimal(problem: Problem, search: PlacementSearch) -> FoundPlacement:
    """Return the sharing with the lowest cost, with a bound. Raises UsageError for unknown costs."""
    items = len(problem.item)
    few = items <= TABLE_ITEMS or (
        problem.alike
        and (
            items <= ALIKE_ITEMS
            or (items <= MOST_ITEMS and (max(problem.rooms) <= SMALL_ROOM or len(problem.rooms) == 2))
        )
    )
    if few and problem.single and problem.countable:
        return by_table(problem)
    if problem.countable:
        return by_columns(problem, search)
    return by_generation(problem, search)


def by_table(problem: Problem, repeat: int = 1) -> FoundPlacement:
    """Solve by the engine, from a table of all sets (place/subsets.rs). `repeat`: for the mean time of a decision."""
    kind, first = problem.kinds
    tables = [
        [(sum(1 << member for member in members), sum(lost)) for members, lost in problem.table(chip)] for chip in first
    ]
    request = {
        "items": len(problem.item), "tables": tables, "kind": kind, "alike": problem.alike, "repeat": repeat,
    }  # fmt: skip
    answer = ask("optimal", request)
    chips = sharing_of(answer["chips"], len(problem.chips))
    return FoundPlacement(chips, answer["value"] / len(problem.tasks), round(answer["decision_ns"]))


class _Columns(msgspec.Struct, frozen=True):
    """Sets that chips of a kind may get: the kind, the members, and the losses of the members."""

    kind: list[int]
    members: list[tuple[int, ...]]
    lost: list[tuple[float, ...]]


def by_columns(problem: Problem, search: PlacementSearch) -> FoundPlacement:
    """Solve by HiGHS: minimise the sum of the sets' costs, with each process in one set, and as many sets of a kind as
    chips. The cost of a task of several processes is a variable that none of its processes exceeds."""
    kind_of, first = problem.kinds
    rows = [
        (kind, members, lost) for kind, chip in enumerate(first) for members, lost in problem.table(chip) if members
    ]
    columns = _Columns([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])
    chosen, bound, late = _partition(
        problem, columns, [kind_of.count(kind) for kind in range(len(first))], search.budget_s
    )
    if chosen is None:
        placement = swap(problem, search)
        return replace(placement, bound=bound, out_of_time=True)
    free = {kind: [chip for chip, chip_kind in enumerate(kind_of) if chip_kind == kind] for kind in range(len(first))}
    sharing: list[tuple[int, ...]] = [()] * len(problem.chips)
    for column in chosen:
        sharing[free[columns.kind[column]].pop(0)] = columns.members[column]
    return FoundPlacement(tuple(sharing), bound, out_of_time=late)


def _partition(
    problem: Problem, columns: _Columns, chips: Sequence[int], budget_s: float
) -> tuple[list[int] | None, float | None, bool]:
    """Return the chosen columns (None: none in time), the bound on the mean cost, and whether time ran out."""
    count, items, tasks = len(columns.members), len(problem.item), len(problem.tasks)
    jobs = [] if problem.single else list(range(tasks))
    entries = [(member, index, 1.0) for index, members in enumerate(columns.members) for member in members]
    entries += [(items + kind, index, 1.0) for index, kind in enumerate(columns.kind)]
    low, high = [1.0] * items + [0.0] * len(chips), [1.0] * items + [float(chip) for chip in chips]
    if jobs:
        at = items + len(chips)
        for index, (members, lost) in enumerate(zip(columns.members, columns.lost, strict=True)):
            entries += [(at + member, index, -cost) for member, cost in zip(members, lost, strict=True)]
        entries += [(at + item, count + problem.job[item], 1.0) for item in range(items)]
        low, high = low + [0.0] * items, high + [np.inf] * items
    row, column, value = (np.array(axis) for axis in zip(*entries, strict=True))
    matrix = csr_matrix((value, (row, column)), shape=(len(low), count + len(jobs)))
    own = [0.0 if jobs else sum(lost) for lost in columns.lost]
    solution: Any = milp(
        np.array(own + [1.0] * len(jobs)),
        integrality=np.array([1] * count + [0] * len(jobs)),
        bounds=Bounds(np.array([0.0] * count + [-np.inf] * len(jobs)), np.array([1.0] * count + [np.inf] * len(jobs))),
        constraints=LinearConstraint(matrix, np.array(low), np.array(high)),
        options={"time_limit": budget_s, "mip_rel_gap": 0.0},
    )
    if solution.status not in (0, 1):
        raise UsageError(f"HiGHS found no placement: {solution.message}")
    dual = getattr(solution, "mip_dual_bound", None)
    bound = None if dual is None or not np.isfinite(dual) else float(dual) / tasks
    if solution.x is None:
        return None, bound, True
    return [int(index) for index in np.flatnonzero(solution.x[:count] > 0.5)], bound, solution.status == 1


def by_generation(problem: Problem, search: PlacementSearch) -> FoundPlacement:
    """Search locally; where chips are alike and tasks are single processes, add a bound by column generation."""
    begun = system_clock.monotonic()
    first = swap(problem, PlacementSearch(search.seed, search.budget_s * SHARE_OF_SWAP))
    if not (problem.alike and problem.single and problem.threads == 1):
        return first
    room, count = problem.rooms[0], len(problem.chips)
    cost = np.zeros((room * count, room * count))
    pairs = problem.pairs()
    cost[: len(pairs), : len(pairs)] = pairs + pairs.T
    columns = _Generation(cost, room, count)
    columns.add(_full(first.sharing, len(pairs), room))
    columns.run(begun + search.budget_s * SHARE_OF_COLUMNS)
    best = columns.whole(max(0.1, begun + search.budget_s - system_clock.monotonic()))
    worth, _ = problem.worth(first.sharing)
    sharing: Sharing = first.sharing
    if best is not None:
        generated = tuple(tuple(member for member in members if member < len(pairs)) for members in best)
        sharing = min((first.sharing, generated), key=lambda candidate: problem.worth(candidate)[0])
        worth = problem.worth(sharing)[0]
    bound = min(columns.bound / len(problem.tasks), worth)
    return FoundPlacement(sharing, bound, out_of_time=columns.late)


def _full(sharing: Sharing, items: int, room: int) -> list[tuple[int, ...]]:
    """Return the sets, each filled up with unused slots."""
    spare, result = items, []
    for members in sharing:
        missing = room - len(members)
        result.append((*members, *range(spare, spare + missing)))
        spare += missing
    return result


class _Generation:
    """Column generation. `cost`: a matrix of the costs of two processes to each other; there are `chips` chips of
    `room` slots."""

    def __init__(self, cost: NDArray[np.float64], room: int, chips: int) -> None:
        self._cost, self._room, self._chips = cost, room, chips
        self._members: dict[tuple[int, ...], float] = {}
        self.bound = -np.inf
        self.late = False

    def add(self, sets: Sequence[Sequence[int]]) -> int:
        """Add sets as columns; return the number of new ones."""
        before = len(self._members)
        for members in sets:
            chosen = tuple(sorted(members))
            self._members[chosen] = float(self._cost[np.ix_(chosen, chosen)].sum()) / 2
        return len(self._members) - before

    def _solved(self) -> tuple[float, NDArray[np.float64]]:
        """Solve the linear program over the columns; return its value and prices."""
        sets = list(self._members)
        column = np.repeat(np.arange(len(sets)), self._room)
        matrix: Any = csr_matrix(
            (np.ones(len(column)), (np.concatenate(sets), column)), shape=(len(self._cost), len(sets))
        )
        solution: Any = linprog(
            list(self._members.values()), A_eq=matrix, b_eq=np.ones(len(self._cost)), method="highs"
        )
        return float(solution.fun), np.asarray(solution.eqlin.marginals)

    def run(self, until: float) -> None:
        """Make columns until the linear program is solved, or until a time (system_clock.monotonic())."""
        center: NDArray[np.float64] | None = None
        while True:
            value, prices = self._solved()
            center = prices if center is None else center
            if value - self.bound <= PRECISION * max(1.0, abs(value)):
                return
            fresh = 0
            for trial in (SMOOTHED * center + (1 - SMOOTHED) * prices, prices):
                left = until - system_clock.monotonic()
                if left <= 0:
                    self.late = True
                    return
                answer = ask(
                    "cheapest",
                    {
                        "both": self._cost.tolist(), "prices": trial.tolist(), "size": self._room,
                        "budget_ms": max(1, round(left * 1000)),
                    },
                )  # fmt: skip
                bound = float(trial.sum() + self._chips * answer["bound"])
                if bound > self.bound:
                    self.bound, center = bound, trial
                fresh = self.add(answer["sets"])
                if fresh:
                    break
            if not fresh:
                return

    def whole(self, budget_s: float) -> list[tuple[int, ...]] | None:
        """Return the best sharing of the present columns; None where none was found in time."""
        sets = list(self._members)
        column = np.repeat(np.arange(len(sets)), self._room)
        matrix = csr_matrix((np.ones(len(column)), (np.concatenate(sets), column)), shape=(len(self._cost), len(sets)))
        solution: Any = milp(
            np.array(list(self._members.values())),
            integrality=np.ones(len(sets), dtype=int),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, 1, 1),
            options={"time_limit": budget_s},
        )
        return None if solution.x is None else [sets[index] for index in np.flatnonzero(solution.x > 0.5)]
