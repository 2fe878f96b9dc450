"""The arms of a race, which are sets of candidates: their results, and predictions of failures.

An arm is the set of the indices of its candidates in the space. All runs of an arm count together, whenever they were
made: the spread is the sum of squares about the mean of each loop over the degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from becalm.methods.protocol import Sample
from becalm.nouns.objective import find
from becalm.nouns.search_space import Group, Space
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats

Arm = frozenset[int]

UNTOUCHED: Arm = frozenset()

LEAST = 1e-9
"""The smallest spread, so that its logarithm exists."""


class Arms:
    """The results of a race for the arms of a space."""

    def __init__(self, space: Space, objective: str) -> None:
        self.space = space
        self.objective = objective
        self._squares: dict[Arm, float] = {}
        self._freedom: dict[Arm, float] = {}
        self._first: dict[Arm, tuple[float, float]] = {}
        self._worth = find(objective).efficiency
        self._failed: set[Arm] = set()
        index = {knob: i for i, candidate in enumerate(space.candidates) for knob in candidate.knobs}
        self._requires = [
            frozenset(index.get(knob, -1) for knob in candidate.requires) for candidate in space.candidates
        ]
        self._conflicts = [
            frozenset(index[knob] for knob in candidate.conflicts if knob in index) for candidate in space.candidates
        ]

    @property
    def tried(self) -> list[Arm]:
        """The arms without a failed run, in the order in which they were first tried."""
        return list(self._squares)

    @property
    def failures(self) -> int:
        """The number of arms that failed."""
        return len(self._failed)

    def settings(self, arm: Arm) -> Settings:
        """Return the settings of an arm."""
        return self.space.settings(self.space.candidates[i] for i in sorted(arm))

    def add(self, arm: Arm, sample: Sample) -> None:
        """Add the runs of an arm. A single failed run makes it a failed arm."""
        spread = sample.value(self.objective)
        if arm in self._failed or not math.isfinite(spread):
            self._failed.add(arm)
            self._squares.pop(arm, None)
            self._freedom.pop(arm, None)
            return
        freedom = self._worth * sum(len(loop) - 1 for loop in sample.loops)
        self._first.setdefault(arm, (freedom * spread**2, freedom))
        self._squares[arm] = self._squares.get(arm, 0.0) + freedom * spread**2
        self._freedom[arm] = self._freedom.get(arm, 0.0) + freedom

    def freedom(self, arm: Arm) -> float:
        """Return the degrees of freedom of a tried arm's spread."""
        return self._freedom[arm]

    def later_spread(self, arm: Arm) -> tuple[float, float]:
        """Return the spread and degrees of freedom of an arm without its first runs, which may have been lucky ones.

        Both are 0 if there are no other runs.
        """
        squares, freedom = self._first[arm]
        rest = self._freedom[arm] - freedom
        return (max(LEAST, math.sqrt(max(0.0, self._squares[arm] - squares) / rest)), rest) if rest > 0 else (0.0, 0.0)

    def spread(self, arm: Arm) -> float:
        """Return the spread of a tried arm from all its runs, a fraction."""
        return max(LEAST, math.sqrt(self._squares[arm] / self._freedom[arm]))

    def sensible(self, chosen: Iterable[int]) -> Arm:
        """Return the arm of some candidates without the impossible ones, which `Space.settings` leaves out."""
        requested = frozenset(chosen)
        arm = frozenset(i for i in requested if not self._conflicts[i] & requested)
        return frozenset(i for i in arm if self._requires[i] <= arm)

    def hopeful(self, arm: Arm) -> bool:
        """Return whether an arm may be tried: it has at most half of the suspects of each failed arm.

        The suspects of a failed arm are its candidates that are in no arm that worked; if there are none, its
        combination is at fault, and all its candidates are suspects.
        """
        if arm in self._squares or not self._failed:
            return True
        cleared = frozenset().union(*self._squares)
        for failed in self._failed:
            suspects = failed - cleared or failed
            if failed <= arm or 2 * len(suspects & arm) > max(len(suspects), 2):
                return False
        return True

    def portfolio(self) -> list[Arm]:
        """Return the first arms, the most informative first: none, all, parts by group, and the profiles."""
        groups = {
            group: {i for i, candidate in enumerate(self.space.candidates) if candidate.group is group}
            for group in Group
        }
        every = set(range(len(self.space.candidates)))
        confining = {i for i, candidate in enumerate(self.space.candidates) if candidate.restricts_cpus}
        boots = {i for i, candidate in enumerate(self.space.candidates) if candidate.knobs & set(self.space.boot)}
        sets = [
            set(),
            every,
            every - boots,
            boots,
            every - groups[Group.DANGEROUS],
            groups[Group.ESSENTIAL],
            *(self._profile(profile) for _, profile in self.space.profiles),
            *self.strongest(),
            every - confining,
            every - groups[Group.ISOLATION],
            every - groups[Group.NORMAL],
        ]
        return list(dict.fromkeys(self.sensible(indices) for indices in sets))

    def strongest(self) -> list[Arm]:
        """Return the arms that help if any arm does: all candidates, and the union of all profiles."""
        union = set().union(*(self._profile(profile) for _, profile in self.space.profiles))
        sets = (set(range(len(self.space.candidates))), union)
        return [arm for arm in dict.fromkeys(self.sensible(indices) for indices in sets) if arm]

    def _profile(self, profile: Settings) -> set[int]:
        wanted = dict(profile.values)
        candidates = enumerate(self.space.candidates)
        return {i for i, candidate in candidates if all(wanted.get(part.knob) == part.value for part in candidate.all)}

    def near(self, leaders: Sequence[Arm], drawn: Iterable[Arm], rng: np.random.Generator) -> list[Arm]:
        """Return arms worth considering: tried ones, `drawn` ones, and variations of the leaders.

        The variations are neighbours, mixtures and random changes.
        """
        count = len(self.space.candidates)
        arms = {arm for arm in self.tried if self.hopeful(arm)} | {self.sensible(arm) for arm in drawn}
        for arm in self._changed(leaders, count, rng):
            arms.add(self.sensible(arm))
        return [arm for arm in sorted(arms, key=sorted) if self.hopeful(arm)]

    def _changed(self, leaders: Sequence[Arm], count: int, rng: np.random.Generator) -> Iterator[Arm]:
        for leader in leaders:
            yield from (leader ^ {i} for i in range(count))
            yield from (leader | other for other in leaders)
            yield from (leader & other for other in leaders)
            for size in rng.integers(2, 6, size=20):
                yield leader ^ frozenset(rng.choice(count, min(int(size), count), replace=False).tolist())

    def matrix(self, arms: Sequence[Arm]) -> Floats:
        """Return a matrix with +1 for a candidate in the arm, -1 for others; shape (arms, candidates)."""
        matrix = np.full((len(arms), len(self.space.candidates)), -1.0)
        rows = np.repeat(np.arange(len(arms)), [len(arm) for arm in arms])
        matrix[rows, np.fromiter(chain.from_iterable(arms), np.intp, len(rows))] = 1.0
        return matrix
