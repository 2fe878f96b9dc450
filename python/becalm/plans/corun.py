"""Programs alone and beside each other, in rounds of random order: the plan of `becalm corun`.

A cell is a program beside others. In a round every program that runs runs once alone, and once in each cell that was
chosen; so what a program loses is compared within rounds. A pilot, which is not counted, tells how long programs take,
and by that it is chosen which cells there is time for: pairs first, both ways, each program in about equally many, then
the same pairs on the two threads of one core, where cores have two, then larger sets.

Public: Cell, cells, chosen, co_runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from becalm.nouns.run import Block, Outcome, Run, Step

PILOTS = (-2, -1)
"""Rounds that are not counted: the first reads files, the second says how long a program takes."""

LEAST_ROUNDS = 6
"""The rounds that must fit for a pair to be measured at all: from six on, coins alone give an interval of 95 %."""

ROUNDS_OF_SETS = 12
"""Larger sets are measured where so many rounds of all pairs fit as well."""

SLOWER = 1.3
"""The expected slow-down of a program next to others, a factor on its time alone."""

SLOWER_ON_A_CORE = 1.8
"""The same beside one on its own core."""

NEIGHBOURS_NS = 60_000_000
"""The expected time of starting and ending neighbours, ns."""

MOST_CELLS = 2000
GIVEN_UP = 2
"""A cell that failed so often and never ended well is not tried again."""


@dataclass(frozen=True, slots=True)
class CoRunCell:
    """A program beside others, by their numbers. Those of one set of programs belong together. `same_core`: beside one
    that runs on the other thread of its own core; else no two share a core."""

    program: int
    beside: tuple[int, ...]
    same_core: bool = False

    @property
    def together(self) -> tuple[int, ...]:
        """All of them, in order."""
        return tuple(sorted((self.program, *self.beside)))

    @property
    def group(self) -> tuple[tuple[int, ...], bool]:
        """The unit that is measured or left out: these programs, on cores of their own or on one."""
        return self.together, self.same_core


def cells(programs: int, room: int, *, threads: bool = False) -> tuple[CoRunCell, ...]:
    """Return all pairs of `programs` programs, in an order in which each has its turn equally often; with `threads`,
    these again on one core; then sets up to `room`."""
    found = [
        group
        for distance in range(1, programs // 2 + 1)
        for one in range(programs)
        if (group := tuple(sorted((one, (one + distance) % programs))))
    ]
    groups = list(dict.fromkeys(found))
    made = [cell for group in groups for cell in _of(group)]
    if threads:
        made += [replace(cell, same_core=True) for cell in made]
    for size in range(3, min(room, programs) + 1):
        more = [cell for group in combinations(range(programs), size) for cell in _of(group)]
        if len(made) + len(more) > MOST_CELLS:
            break
        made += more
    return tuple(made)


def chosen(alone_ns: Mapping[int, float], some: Sequence[CoRunCell], budget_ns: float | None) -> tuple[CoRunCell, ...]:
    """Return the cells that there is time for, in the order given; `alone_ns`: of programs that end well.

    At least one pair, since without any nothing would be known.
    """
    able = [cell for cell in some if all(each in alone_ns for each in cell.together)]
    if budget_ns is None:
        return tuple(able)
    groups = list(dict.fromkeys(cell.group for cell in able))
    left = float(budget_ns)
    once = sum(alone_ns.values())
    taken: list[tuple[tuple[int, ...], bool]] = []
    for group in groups:
        members, same_core = group
        slower = SLOWER_ON_A_CORE if same_core else SLOWER
        cost = sum(slower * alone_ns[member] + NEIGHBOURS_NS for member in members)
        rounds = LEAST_ROUNDS if len(members) == 2 else ROUNDS_OF_SETS
        if taken and rounds * (once + cost) > left:
            break
        once += cost
        taken.append(group)
    return tuple(cell for cell in able if cell.group in taken)


def co_runs(
    rows: Sequence[Run], programs: int, some: Sequence[CoRunCell], budget_ns: int | None, rounds: int | None, seed: int
) -> Block | None:
    """Return the next block; None when the budget or the rounds are used up, or no programs can be measured together.

    `rows`: all runs so far; workloads are the programs, then the cells in their order.
    """
    if not rows:
        order = np.random.default_rng([seed, 0]).permutation(programs)
        return Block(tuple(Step(int(each), 0, 0, number) for number in PILOTS for each in order))
    alone_ns = pilot(rows, programs)
    number = max(0, rows[-1].round + 1)
    elapsed = _elapsed_ns(rows)
    spent = _until_ns(rows, 0)
    wanted = chosen(alone_ns, some, None if budget_ns is None else budget_ns - spent)
    wanted = tuple(cell for cell in wanted if not _given_up(rows, programs + some.index(cell)))
    if not wanted or (rounds is not None and number >= rounds):
        return None
    if number and budget_ns is not None and elapsed + (elapsed - spent) / number > budget_ns:
        return None
    workloads = [*sorted(alone_ns), *(programs + some.index(cell) for cell in wanted)]
    order = np.random.default_rng([seed, 1, number]).permutation(len(workloads))
    return Block(tuple(Step(workloads[index], 0, 0, number) for index in order))


def pilot(rows: Sequence[Run], programs: int) -> dict[int, float]:
    """Return the time alone in the last round of the pilot, ns, of programs that ended well there."""
    return {
        run.workload: float(run.took_ns)
        for run in rows
        if run.round == PILOTS[-1] and run.workload < programs and run.outcome == Outcome.OK
    }


def _of(group: tuple[int, ...]) -> list[CoRunCell]:
    return [CoRunCell(each, tuple(other for other in group if other != each)) for each in group]


def _given_up(rows: Sequence[Run], workload: int) -> bool:
    mine = [run.outcome for run in rows if run.workload == workload]
    return len(mine) >= GIVEN_UP and Outcome.OK not in mine


def _elapsed_ns(rows: Sequence[Run]) -> int:
    return rows[-1].started_ns + rows[-1].took_ns - rows[0].started_ns


def _until_ns(rows: Sequence[Run], number: int) -> int:
    """Return the time before a round, ns."""
    before = [run for run in rows if run.round < number]
    return _elapsed_ns(before) if before else 0
