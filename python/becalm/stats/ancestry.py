"""A range of commits as a graph, and which of them lead to which.

Places 1 to n are commits, each behind its parents; 0 is the good commit, which the range does not contain. A merge has
several parents, so a range with merges is not a line: `Ancestry` gives for any graph what a running sum gives for a
line.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats

Places = npt.NDArray[np.bool_]
"""A flag for each place from 1 on, shape (places,)."""


# A dataclass, because each field of a Struct is an argument and is compared.
@dataclass(frozen=True, slots=True)
class Ancestry:
    """The parents of each place from 1 on, first parents first; those outside the range are left out.

    `depth`: the number of merges between a place and the first-parent line of the last place: 0 on that line.
    """

    parents: tuple[tuple[int, ...], ...]
    depth: tuple[int, ...] = field(init=False)
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _merges: dict[int, Places] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for place, parents in enumerate(self.parents, start=1):
            if not all(0 < parent < place for parent in parents):
                raise ValueError(f"Place {place} must come after its parents, not before {parents}.")
        object.__setattr__(self, "depth", self._depths())
        object.__setattr__(self, "_starts", self._lines())
        object.__setattr__(self, "_merges", {})
        for place, parents in enumerate(self.parents, start=1):
            if len(parents) > 1:
                self._merges[place] = self.ancestors(place)

    @classmethod
    def line(cls, places: int) -> Ancestry:
        """Return the graph of a history without merges."""
        return cls(((), *((place,) for place in range(1, places)))[:places])

    def ancestors(self, place: int) -> Places:
        """Return a mask of the places that lead to this one, itself included, shape (places,)."""
        is_ancestor = np.zeros(len(self.parents), np.bool_)
        pending = [place]
        while pending:
            current = pending.pop()
            if is_ancestor[current - 1]:
                continue
            start = self._starts[current - 1]
            is_ancestor[start - 1 : current] = True
            if start in self._merges:
                is_ancestor |= self._merges[start]
            else:
                pending += self.parents[start - 1]
        return is_ancestor

    def descendants(self, place: int) -> Places:
        """Return a mask of the places that this one leads to, itself included, shape (places,)."""
        is_descendant = [False] * len(self.parents)
        is_descendant[place - 1] = True
        for other in range(place + 1, len(is_descendant) + 1):
            is_descendant[other - 1] = any(is_descendant[parent - 1] for parent in self.parents[other - 1])
        return np.array(is_descendant, np.bool_)

    def sums(self, weights: Floats) -> Floats:
        """Return for each place the sum of the weights, shape (places,), of all places that lead to it, shape
        (places,)."""
        total = np.zeros(len(self.parents))
        starts = sorted(set(self._starts))
        for start, end in pairwise([*starts, len(total) + 1]):
            parents = self.parents[start - 1]
            if len(parents) > 1:
                ancestors_sum = float(weights[self._merges[start]].sum() - weights[start - 1])
            else:
                ancestors_sum = float(total[parents[0] - 1]) if parents else 0.0
            total[start - 1 : end - 1] = ancestors_sum + np.cumsum(weights[start - 1 : end - 1])
        return total

    def indistinguishable(self, place: int, unusable: Collection[int]) -> tuple[int, ...]:
        """Return the places, this one included, that no usable place can tell from it as the first bad one."""
        if not unusable:
            return (place,)
        usable = np.array([other not in unusable for other in range(1, len(self.parents) + 1)])
        evidence = self.descendants(place) & usable
        # Two usable places can always be told apart; the only usable candidate is the first that this place leads to.
        others = {*unusable, int(np.argmax(evidence)) + 1} if evidence.any() else set(unusable)
        equal = {other for other in others if np.array_equal(self.descendants(other) & usable, evidence)}
        return tuple(sorted({place, *equal}))

    def _lines(self) -> tuple[int, ...]:
        """Return for each place the start of the line of single parents without a gap that leads to it."""
        starts: list[int] = []
        for place, parents in enumerate(self.parents, start=1):
            starts.append(starts[-1] if starts and parents == (place - 1,) else place)
        return tuple(starts)

    def _depths(self) -> tuple[int, ...]:
        count = len(self.parents)
        depths = [count] * count
        if depths:
            depths[-1] = 0
        for place in range(count, 0, -1):
            for number, parent in enumerate(self.parents[place - 1]):
                depths[parent - 1] = min(depths[parent - 1], depths[place - 1] + (number > 0))
        return tuple(depths)


def places_of(parents: Sequence[Sequence[str]], names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return parents by name as places, for commits `names` in their order from place 1 on."""
    place = {name: number for number, name in enumerate(names, start=1)}
    return tuple(tuple(place[name] for name in parent if name in place) for parent in parents)
