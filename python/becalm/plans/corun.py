"""Programs by themselves and next to each other, in rounds of random order: the plan of `becalm corun`.

A cell is a program next to others. In a round every program runs once by itself and once in each chosen cell, so that
slowdowns are compared within rounds. A pilot, which is not counted, shows how long programs take. From that the plan
chooses the cells that fit into the budget: first pairs, in both directions and about equally many for each program;
then the same pairs on the two threads of one core, where cores have two; then larger sets.

Public: CoRunCell, cells, chosen_cells, co_runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np
from msgspec.structs import replace

from becalm.nouns.run import Block, Outcome, Run, Step

PILOTS = (-2, -1)
"""Rounds that are not counted: the first reads files, the second shows how long a program takes."""

LEAST_ROUNDS = 6
"""Rounds that must fit before a pair is measured: with six, fair coins alone give an interval of 95 %."""

ROUNDS_OF_SETS = 12
"""Rounds of all pairs that must fit before larger sets are measured."""

SLOWER = 1.3
"""The expected slowdown of a program next to others, as a factor of its time by itself."""

SLOWER_ON_A_CORE = 1.8
"""The same next to a program on the other thread of its core."""

NEIGHBOURS_NS = 60_000_000
"""The expected time of starting and ending neighbours, ns."""

MOST_CELLS = 2000
GIVEN_UP = 2
"""The number of failures after which a cell that never ended well is not tried again."""


class CoRunCell(msgspec.Struct, frozen=True):
    """A program next to others, by their numbers.

    `same_core`: the other program runs on the second thread of the same core; otherwise no two share a core."""

    program: int
    alongside: tuple[int, ...]
    same_core: bool = False

    @property
    def together(self) -> tuple[int, ...]:
        """The numbers of all programs of the cell, in ascending order."""
        return tuple(sorted((self.program, *self.alongside)))

    @property
    def group(self) -> tuple[tuple[int, ...], bool]:
        """The key of the cells that are measured or left out together: the programs, and whether they share a core."""
        return self.together, self.same_core


def cells(programs: int, room: int, *, threads: bool = False) -> tuple[CoRunCell, ...]:
    """Return the cells of `programs` programs: all pairs, so ordered that programs take turns; with `threads`, the same
    pairs on one core; then sets of up to `room` programs."""
    pairs = [
        group
        for distance in range(1, programs // 2 + 1)
        for first in range(programs)
        if (group := tuple(sorted((first, (first + distance) % programs))))
    ]
    groups = list(dict.fromkeys(pairs))
    result = [cell for group in groups for cell in _cells_of(group)]
    if threads:
        result += [replace(cell, same_core=True) for cell in result]
    for size in range(3, min(room, programs) + 1):
        larger = [cell for group in combinations(range(programs), size) for cell in _cells_of(group)]
        if len(result) + len(larger) > MOST_CELLS:
            break
        result += larger
    return tuple(result)


def chosen_cells(
    alone_ns: Mapping[int, float], some: Sequence[CoRunCell], budget_ns: float | None
) -> tuple[CoRunCell, ...]:
    """Return the cells that fit into the budget, in their given order, at least one pair.

    `alone_ns`: the time of each program that ends well by itself, ns. `budget_ns`: None for no limit.
    """
    able = [cell for cell in some if all(program in alone_ns for program in cell.together)]
    if budget_ns is None:
        return tuple(able)
    groups = list(dict.fromkeys(cell.group for cell in able))
    left = float(budget_ns)
    once = sum(alone_ns.values())
    affordable: list[tuple[tuple[int, ...], bool]] = []
    for group in groups:
        members, same_core = group
        slower = SLOWER_ON_A_CORE if same_core else SLOWER
        cost = sum(slower * alone_ns[member] + NEIGHBOURS_NS for member in members)
        rounds = LEAST_ROUNDS if len(members) == 2 else ROUNDS_OF_SETS
        if affordable and rounds * (once + cost) > left:
            break
        once += cost
        affordable.append(group)
    return tuple(cell for cell in able if cell.group in affordable)


def co_runs(
    rows: Sequence[Run], programs: int, some: Sequence[CoRunCell], budget_ns: int | None, rounds: int | None, seed: int
) -> Block | None:
    """Return the next block; None when the budget or the rounds are used up, or no programs can be measured together.

    `rows`: all runs so far; workload numbers are those of the programs, followed by the cells in their order.
    """
    if not rows:
        order = np.random.default_rng([seed, 0]).permutation(programs)
        return Block(tuple(Step(int(program), 0, 0, number) for number in PILOTS for program in order))
    alone_ns = pilot(rows, programs)
    number = max(0, rows[-1].round + 1)
    elapsed = _elapsed_ns(rows)
    spent = _until_ns(rows, 0)
    possible = chosen_cells(alone_ns, some, None if budget_ns is None else budget_ns - spent)
    possible = tuple(cell for cell in possible if not _given_up(rows, programs + some.index(cell)))
    if not possible or (rounds is not None and number >= rounds):
        return None
    if number and budget_ns is not None and elapsed + (elapsed - spent) / number > budget_ns:
        return None
    workloads = [*sorted(alone_ns), *(programs + some.index(cell) for cell in possible)]
    order = np.random.default_rng([seed, 1, number]).permutation(len(workloads))
    return Block(tuple(Step(workloads[index], 0, 0, number) for index in order))


def pilot(rows: Sequence[Run], programs: int) -> dict[int, float]:
    """Return the time of each program by itself in the last round of the pilot, ns; only of those that ended well."""
    return {
        run.workload: float(run.took_ns)
        for run in rows
        if run.round == PILOTS[-1] and run.workload < programs and run.outcome == Outcome.OK
    }


def _cells_of(group: tuple[int, ...]) -> list[CoRunCell]:
    return [CoRunCell(program, tuple(other for other in group if other != program)) for program in group]


def _given_up(rows: Sequence[Run], workload: int) -> bool:
    outcomes = [run.outcome for run in rows if run.workload == workload]
    return len(outcomes) >= GIVEN_UP and Outcome.OK not in outcomes


def _elapsed_ns(rows: Sequence[Run]) -> int:
    return rows[-1].started_ns + rows[-1].took_ns - rows[0].started_ns


def _until_ns(rows: Sequence[Run], number: int) -> int:
    """Return the time from the start to the last run before a round, ns."""
    before = [run for run in rows if run.round < number]
    return _elapsed_ns(before) if before else 0
