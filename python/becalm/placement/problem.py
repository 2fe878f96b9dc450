"""A placement as arithmetic: processes by number, chips with room, and the costs of any set of processes on a chip.

`Problem.of` checks tasks, chips and costs against each other; `worth` returns the cost of a sharing; `needed_sizes`,
`table` and `pairs` return the costs as arrays for methods.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from becalm.errors import UsageError
from becalm.results.place_costs import Chip, CoRunCosts, PlacementObjective, Task, in_rounds, items
from becalm.units import join_names

Sharing = tuple[tuple[int, ...], ...]
"""The numbers of the processes on each chip."""

MOST_SETS = 40_000
"""The largest number of sets whose costs are listed; beyond it, methods that need all of them are refused."""

SHOWN = 3


@dataclass(frozen=True)
class Problem:
    """Tasks to place on chips. `item`, `job`: the task of each process, and the number of that task. Costs are on the
    scale of `objective`."""

    tasks: tuple[Task, ...]
    chips: tuple[Chip, ...]
    costs: CoRunCosts | None
    objective: PlacementObjective = PlacementObjective.DEGRADATION
    _known: dict[tuple[str, ...], tuple[float, ...]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls, tasks: Sequence[Task], chips: Sequence[Chip], costs: CoRunCosts | None, objective: PlacementObjective
    ) -> Problem:
        """Return the problem of these tasks. Raises UsageError for tasks that cannot be placed."""
        if not tasks:
            raise UsageError("There is no task to place.")
        placed, room = items(tasks), sum(chip.slots for chip in chips)
        if not room:
            raise UsageError("There is no chip to place tasks on.")
        if len(placed) > room:
            rounds = len(in_rounds(chips, len(placed))) // len(chips)
            raise UsageError(
                f"{len(placed)} processes do not fit on chips that have room for {room}. Place them in {rounds} "
                "rounds (becalm.results.place_costs.in_rounds), or place fewer."
            )
        if any(chip.threads > 2 for chip in chips):
            raise UsageError(
                "A chip has cores of more than two threads. becalm places processes on cores of one or two threads."
            )
        return cls(tuple(tasks), tuple(chips), costs, objective)

    @cached_property
    def item(self) -> tuple[Task, ...]:
        """The task of each process."""
        return items(self.tasks)

    @cached_property
    def job(self) -> tuple[int, ...]:
        """The number of the task of each process."""
        return tuple(index for index, task in enumerate(self.tasks) for _ in range(task.processes))

    @property
    def rooms(self) -> tuple[int, ...]:
        """The number of processes that each chip takes."""
        return tuple(chip.slots for chip in self.chips)

    @property
    def alike(self) -> bool:
        """Whether chips differ only in their number."""
        return len(self.kinds[1]) == 1

    @cached_property
    def kinds(self) -> tuple[list[int], list[int]]:
        """The kind of each chip, and the first chip of each kind: on chips of one kind the same tasks cost the same."""
        keys = [(chip.slots, chip.threads, tuple(self.away[:, number])) for number, chip in enumerate(self.chips)]
        distinct = list(dict.fromkeys(keys))
        return [distinct.index(key) for key in keys], [keys.index(key) for key in distinct]

    @property
    def threads(self) -> int:
        """The most threads that share a core."""
        return max(chip.threads for chip in self.chips)

    @property
    def single(self) -> bool:
        """Whether each task is one process, so that the costs of chips add up."""
        return len(self.item) == len(self.tasks)

    @cached_property
    def away(self) -> NDArray[np.float64]:
        """The loss of each process (row) on each chip (column) from remote memory."""
        return np.array([[self.objective.of(task.away(chip)) for chip in self.chips] for task in self.item])

    def needed_sizes(self, chip: int) -> range:
        """Return the possible numbers of processes on a chip."""
        room, rest = self.rooms[chip], sum(self.rooms) - self.rooms[chip]
        return range(max(0, len(self.item) - rest), min(room, len(self.item)) + 1)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """All sizes of sets that some chip may get."""
        return tuple(sorted({size for chip in range(len(self.chips)) for size in self.needed_sizes(chip) if size}))

    @property
    def countable(self) -> bool:
        """Whether all sets can be listed."""
        return sum(math.comb(len(self.item), size) for size in self.sizes) <= MOST_SETS

    def losses(self, members: Sequence[int], chip: Chip) -> tuple[float, ...]:
        """Return the loss of each of these processes next to the others on a chip, in their order; if two share a core,
        in the cheapest pairs. Raises UsageError for an unknown cost."""
        names = [self.item[member].name for member in members]
        losses = self._by_name(tuple(sorted(names)))
        lost = [losses[sorted(names).index(name)] for name in names]
        if chip.threads > 1:
            for first, second in self.cores(members, chip):
                if second is not None:
                    lost[first] += self._sibling(members[first], members[second])
                    lost[second] += self._sibling(members[second], members[first])
        return tuple(lost)

    def _by_name(self, names: tuple[str, ...]) -> tuple[float, ...]:
        if names not in self._known:
            self._known[names] = self._looked_up(names)
        return self._known[names]

    def _looked_up(self, names: tuple[str, ...]) -> tuple[float, ...]:
        if len(names) == 1 and names not in self._sets:
            return (0.0,)
        if self.costs is None:
            raise UsageError("The costs of these tasks on one chip are not known. Measure them with `becalm corun`.")
        if names in self._sets:
            return tuple(self.objective.of(self._sets[names][name]) for name in names)
        unknown = sorted({pair for pair in _both_ways(names) if pair not in self._pairs})
        if unknown:
            raise UsageError(self._unknown(names, unknown))
        losses = []
        for name, count in Counter(names).items():
            others = Counter(names)
            others[name] -= 1
            lost = math.fsum(
                self.objective.of(self._pairs[name, other]) * many for other, many in others.items() if many
            )
            losses += [lost] * count
        return tuple(losses)

    def _unknown(self, names: tuple[str, ...], unknown: Sequence[tuple[str, str]]) -> str:
        shown = join_names([f"{name} next to {other}" for name, other in unknown[:SHOWN]])
        more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
        return (
            f"The costs of {join_names(names)} on one chip are not known, nor are those of {shown}{more}. Measure "
            "them with `becalm corun`, or leave out a task."
        )

    @cached_property
    def _sets(self) -> dict[tuple[str, ...], dict[str, float]]:
        return {} if self.costs is None else self.costs.by_set()

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], float]:
        return {} if self.costs is None else self.costs.by_pair()

    @cached_property
    def _siblings(self) -> dict[tuple[str, str], float]:
        sibling_costs = () if self.costs is None else self.costs.siblings
        return {(cost.task, cost.alongside): self.objective.of(cost.cost) for cost in sibling_costs}

    def _sibling(self, member: int, other: int) -> float:
        """Return the additional loss of a process from sharing its core; an unknown one is 0."""
        return self._siblings.get((self.item[member].name, self.item[other].name), 0.0)

    def cores(self, members: Sequence[int], chip: Chip) -> tuple[tuple[int, int | None], ...]:
        """Return which of these processes, by position, share cores of a chip with two threads per core: as few as
        possible, in the cheapest pairs."""
        alone = max(0, chip.slots - len(members))

        def best(left: tuple[int, ...], alone: int) -> tuple[float, tuple[tuple[int, int | None], ...]]:
            if not left:
                return 0.0, ()
            first, rest = left[0], left[1:]
            if (left, alone) in known:
                return known[left, alone]
            choices: list[tuple[float, tuple[tuple[int, int | None], ...]]] = []
            if alone:
                cost, pairs = best(rest, alone - 1)
                choices.append((cost, ((first, None), *pairs)))
            for other in rest if len(left) > alone else ():
                cost, pairs = best(tuple(place for place in rest if place != other), alone)
                both = self._sibling(members[first], members[other]) + self._sibling(members[other], members[first])
                choices.append((cost + both, ((first, other), *pairs)))
            known[left, alone] = min(choices, key=lambda choice: choice[0])
            return known[left, alone]

        known: dict[tuple[tuple[int, ...], int], tuple[float, tuple[tuple[int, int | None], ...]]] = {}
        return best(tuple(range(len(members))), min(alone, len(members)))[1]

    def sets(self, sizes: Iterable[int]) -> Iterable[tuple[int, ...]]:
        """Return all sets of processes of these sizes."""
        return (members for size in sizes for members in combinations(range(len(self.item)), size))

    def table(self, number: int) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
        """Return all sets of processes that a chip may get, each with the losses of its members there. Raises
        UsageError for unknown costs."""
        chip = self.chips[number]
        return [
            (
                members,
                tuple(
                    lost + float(self.away[member, number])
                    for member, lost in zip(members, self.losses(members, chip), strict=True)
                ),
            )
            for members in self.sets(self.needed_sizes(number))
        ]

    def pairs(self) -> NDArray[np.float64]:
        """Return the loss of each process (row) next to each other (column). Raises UsageError for an unknown pair."""
        names = [task.name for task in self.tasks]
        known, row = self._pairs, {name: index for index, name in enumerate(names)}
        matrix = np.full((len(names), len(names)), np.nan)
        for (name, other), cost in known.items():
            if name in row and other in row:
                matrix[row[name], row[other]] = self.objective.of(cost)
        whole = matrix[np.ix_(self.job, self.job)]
        np.fill_diagonal(whole, 0.0)
        if np.isnan(whole).any():
            name, other = (self.item[index].name for index in np.argwhere(np.isnan(whole))[0])
            count = len({(self.job[a], self.job[b]) for a, b in np.argwhere(np.isnan(whole))})
            raise UsageError(
                f"The slowdowns of {count} pairs are not known, for example of {name} next to {other}. Measure them "
                "with `becalm corun`, or leave out a task."
            )
        return whole

    def by_sets(self) -> bool:
        """Return whether the costs of the sets that chips may get are known; otherwise only those of pairs are."""
        return any(len(names) > 2 for names in self._sets) or (max(self.sizes) <= 2 and self.costs is not None)

    def worth(self, sharing: Sharing) -> tuple[float, dict[str, float]]:
        """Return the cost of a sharing, the mean over the tasks, each of which costs as much as its slowest process,
        and the degradation of each task. Raises UsageError for unknown costs."""
        slowest = [-math.inf] * len(self.tasks)
        for number, members in enumerate(sharing):
            for member, lost in zip(members, self.losses(members, self.chips[number]), strict=True):
                total = lost + float(self.away[member, number])
                slowest[self.job[member]] = max(slowest[self.job[member]], total)
        lost_by = {
            task.name: cost if self.objective is PlacementObjective.DEGRADATION else cost / (1 + cost)
            for task, cost in zip(self.tasks, slowest, strict=True)
        }
        return math.fsum(slowest) / len(slowest), lost_by

    def named(self, sharing: Sharing) -> tuple[tuple[str, ...], ...]:
        """Return the names on each chip; if two share a core, core by core, so that the two are next to each other."""
        chips = []
        for chip, members in zip(self.chips, sharing, strict=True):
            order: Iterable[int] = range(len(members))
            if chip.threads > 1:
                order = [place for pair in self.cores(members, chip) for place in pair if place is not None]
            chips.append(tuple(self.item[members[place]].name for place in order))
        return tuple(chips)


def _both_ways(names: Sequence[str]) -> set[tuple[str, str]]:
    return {(name, other) for here, name in enumerate(names) for there, other in enumerate(names) if here != there}
