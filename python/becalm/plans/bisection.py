"""The choice of the next commit to measure, and the end: a bisection of noisy places as a function of its history.

`Bisection` holds what was measured and built so far; `step` says what to do next. It is the same for real commits
(`becalm.verbs.bisect`) and for simulated ones (`bench/bisection.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from becalm.stats.ancestry import Ancestry
from becalm.stats.arrays import Floats
from becalm.stats.noisy_bisection import (
    BisectionStep,
    known,
    log_ratio,
    looks,
    next_place,
    posterior,
    scatter,
    step,
    visit,
)

REFERENCE, SEARCH = 0.25, 0.2
"""Shares of the probability of error: that good and bad do not differ, and that the commit is the wrong one. What is
left covers what the model of the search leaves out."""

CONFIRMED = 8
"""Differences that the commit and the one before it must have: what rests on three runs may be somebody else's load."""


FORKED = 0.3
"""The standard deviation of the step's share of the whole at a forked place: what adds a second to a program that took
twice as long before adds half as much to it."""

HARMLESS = 0.05
"""The standard deviation of a harmless change's share of the whole step at a forked place. Where any share of the step
may be the change, a difference of a hundredth of it, however well it is known, must not count as one."""


@dataclass(frozen=True, slots=True)
class PlaceMeasurement:
    """Measure so many differences of a place from the good one."""

    place: int
    count: int


@dataclass(frozen=True, slots=True)
class Done:
    """The end. `suspects`: places of which one is the first bad one, one where it is found, none where no step is.

    `probability`: that it is one of them.
    """

    suspects: tuple[int, ...]
    probability: float


@dataclass(slots=True)
class Bisection:
    """The history of a search over place 0 (good) and those of a graph (the last one is bad).

    `most`: differences at most of good and bad, and from which on a place is not chosen again. `forked`: places that
    are compared with another commit than the good one, at which the step may be another share of the whole.
    """

    ancestry: Ancestry
    error: float = 0.05
    most: int = 200
    differences: dict[int, list[float]] = field(default_factory=dict)
    built: set[int] = field(default_factory=set)
    unusable: set[int] = field(default_factory=set)
    forked: frozenset[int] = frozenset()
    _looked: int = 0

    def take(self, place: int, differences: Sequence[float]) -> None:
        """Add the measurements of a place."""
        self.differences.setdefault(place, []).extend(differences)

    @property
    def places(self) -> int:
        """Number of places, which is that of the bad one."""
        return len(self.ancestry.parents)

    @property
    def reference(self) -> BisectionStep | None:
        """The whole step, as far as it is known."""
        mine = self.differences.get(self.places, [])
        return step(mine) if len(mine) > 1 else None

    @property
    def posterior(self) -> Floats:
        """Probability of each place from 1 on being the first bad one, shape (places,)."""
        return posterior(self.ancestry, self._ratios())

    @property
    def before(self) -> Floats:
        """Probability of each place from 1 on having the change, shape (places,)."""
        return self.ancestry.sums(self.posterior)

    def step(self) -> PlaceMeasurement | Done:
        """Return the next step."""
        mine = self.differences.get(self.places, [])
        counts = looks(self.most)
        look = sum(len(mine) >= count for count in counts) - 1
        if look < 0 or self.reference is None:
            return PlaceMeasurement(self.places, counts[0] - len(mine))
        # Each look was at the differences that there were then.
        if not any(known(step(mine[: counts[i]]), i, self.error * REFERENCE) for i in range(look + 1)):
            if look + 1 == len(counts):
                return Done((), 0.0)
            return PlaceMeasurement(self.places, counts[look + 1] - len(mine))
        if self.places == 1:
            return Done((1,), 1.0 - self.error)
        return self._search()

    def _search(self) -> PlaceMeasurement | Done:
        ratios = self._ratios()
        found = posterior(self.ancestry, ratios)
        suspects = self.ancestry.alike(int(found.argmax()) + 1, self.unusable)
        probability = float(sum(found[place - 1] for place in suspects))
        if probability >= 1 - self.error * SEARCH:
            for beside in self._beside(suspects):
                lacking = CONFIRMED - len(self.differences.get(beside, ()))
                if beside < self.places and beside not in self.unusable and lacking > 0:
                    return PlaceMeasurement(beside, lacking)
            return Done(suspects, probability)
        before = self.ancestry.sums(found)
        unsure = self.error * SEARCH / 2
        # A place between both sides may stay undecided however often it is looked at.
        exhausted = {place for place, values in self.differences.items() if len(values) >= self.most}
        place = next_place(before, self.ancestry.depth, ratios, self.built, self.unusable | exhausted, unsure)
        if place is None:
            return Done(suspects, probability)
        sigma, _ = self._scatter()
        assert self.reference is not None
        return PlaceMeasurement(place, visit(self.reference, sigma))

    def _beside(self, suspects: tuple[int, ...]) -> list[int]:
        """Return the places that must be sure: the last of the suspects, and the parents of them all."""
        parents = {parent for place in suspects for parent in self.ancestry.parents[place - 1]}
        return [*sorted(parents - set(suspects)), suspects[-1]]

    def _scatter(self) -> tuple[float, float]:
        return scatter(list(self.differences.values()))

    def _ratios(self) -> dict[int, float]:
        reference = self.reference
        if reference is None:
            return {}
        sigma, freedom = self._scatter()
        vague = replace(reference, error=math.hypot(reference.error, FORKED * reference.size))
        apart = HARMLESS * abs(reference.size)
        return {
            place: log_ratio(differences, vague, sigma, freedom, apart)
            if place in self.forked
            else log_ratio(differences, reference, sigma, freedom)
            for place, differences in self.differences.items()
            if place != self.places
        }
