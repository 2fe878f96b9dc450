"""The choice of the next commit to measure, and of when to stop: a bisection of noisy places.

`Bisection` holds the builds and the measurements so far; `step` returns the next step. The same code serves real
commits (`becalm.verbs.bisect`) and simulated ones (`bench/bisection.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from becalm.stats.ancestry import Ancestry
from becalm.stats.arrays import Floats
from becalm.stats.noisy_bisection import (
    BisectionStep,
    is_known,
    log_ratio,
    looks,
    next_place,
    posterior,
    scatter,
    step,
    visit,
)

REFERENCE, SEARCH = 0.25, 0.2
"""Shares of the error probability: for the test whether good and bad differ, and for naming the wrong commit. The rest
covers what the model of the search leaves out."""

CONFIRMED = 8
"""Differences required of the commit and of the one before it: three runs may show somebody else's load."""


FORKED = 0.3
"""Standard deviation of the step at a forked place, as a share of the whole step. The step varies: if the program took
twice as long before, a change that adds one second adds half as much in relative terms."""

HARMLESS = 0.05
"""Standard deviation of a harmless change at a forked place, as a share of the whole step. Without it, where the step
may have any size, a precisely measured difference of a hundredth of the step would count as the change."""


class PlaceMeasurement(msgspec.Struct, frozen=True):
    """A request to measure `count` more differences between a place and the good one."""

    place: int
    count: int


class Done(msgspec.Struct, frozen=True):
    """The end of the search.

    `suspects`: the places of which one is the first bad one; a single place if it is certain, none if there is no step.
    `probability`: the probability that the first bad one is among them.
    """

    suspects: tuple[int, ...]
    probability: float


@dataclass(slots=True)
class Bisection:
    """The history of a search over place 0 (good) and the places of a graph, of which the last one is bad.

    `most`: the number of differences after which good and bad, or any other place, are not measured again.
    `forked`: places that are compared with another commit than the good one; there the step may have another size.
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
        """The number of places, which is also the number of the bad one."""
        return len(self.ancestry.parents)

    @property
    def reference(self) -> BisectionStep | None:
        """The whole step between good and bad; None before there are two differences."""
        differences = self.differences.get(self.places, [])
        return step(differences) if len(differences) > 1 else None

    @property
    def posterior(self) -> Floats:
        """Probability of each place from 1 on being the first bad one, shape (places,)."""
        return posterior(self.ancestry, self._ratios())

    @property
    def before(self) -> Floats:
        """Probability of each place from 1 on of containing the change, shape (places,)."""
        return self.ancestry.sums(self.posterior)

    def step(self) -> PlaceMeasurement | Done:
        """Return the next step."""
        differences = self.differences.get(self.places, [])
        counts = looks(self.most)
        look = sum(len(differences) >= count for count in counts) - 1
        if look < 0 or self.reference is None:
            return PlaceMeasurement(self.places, counts[0] - len(differences))
        # Each look uses the differences that were there at that time.
        if not any(is_known(step(differences[: counts[i]]), i, self.error * REFERENCE) for i in range(look + 1)):
            if look + 1 == len(counts):
                return Done((), 0.0)
            return PlaceMeasurement(self.places, counts[look + 1] - len(differences))
        if self.places == 1:
            return Done((1,), 1.0 - self.error)
        return self._search()

    def _search(self) -> PlaceMeasurement | Done:
        ratios = self._ratios()
        probabilities = posterior(self.ancestry, ratios)
        suspects = self.ancestry.indistinguishable(int(probabilities.argmax()) + 1, self.unusable)
        probability = float(sum(probabilities[place - 1] for place in suspects))
        if probability >= 1 - self.error * SEARCH:
            for candidate in self._decisive(suspects):
                lacking = CONFIRMED - len(self.differences.get(candidate, ()))
                if candidate < self.places and candidate not in self.unusable and lacking > 0:
                    return PlaceMeasurement(candidate, lacking)
            return Done(suspects, probability)
        before = self.ancestry.sums(probabilities)
        unsure = self.error * SEARCH / 2
        # A place may stay undecided however often it is measured.
        exhausted = {place for place, values in self.differences.items() if len(values) >= self.most}
        place = next_place(before, self.ancestry.depth, ratios, self.built, self.unusable | exhausted, unsure)
        if place is None:
            return Done(suspects, probability)
        sigma, _ = self._scatter()
        assert self.reference is not None
        return PlaceMeasurement(place, visit(self.reference, sigma))

    def _decisive(self, suspects: tuple[int, ...]) -> list[int]:
        """Return the places that need certainty: the parents of the suspects, and the last suspect."""
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
