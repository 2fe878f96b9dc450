"""Sets of candidates as a race handles them: which there are, what their runs showed, and which are likely to fail.

An arm is the set of the indices of its candidates in the space. All runs of an arm count together, whenever they were
made: sums of squares over degrees of freedom, about the mean of each loop.
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
"""Smallest spread that is told apart from none: its logarithm must exist."""


class Arms:
    """The knowledge of a race about the arms of a space."""

    def __init__(self, space: Space, objective: str) -> None:
        self.space = space
        self.objective = objective
        self._squares: dict[Arm, float] = {}
        self._freedom: dict[Arm, float] = {}
        self._first: dict[Arm, tuple[float, float]] = {}
        self._worth = find(objective).efficiency
        self._failed: set[Arm] = set()
        index = {knob: i for i, each in enumerate(space.candidates) for knob in each.knobs}
        self._requires = [
            frozenset(index.get(knob, -1) for knob in candidate.requires) for candidate in space.candidates
        ]
        self._conflicts = [
            frozenset(index[knob] for knob in candidate.conflicts if knob in index) for candidate in space.candidates
        ]

    @property
    def tried(self) -> list[Arm]:
        """Arms with good runs only, in the order in which they were first tried."""
        return list(self._squares)

    @property
    def failures(self) -> int:
        """The number of arms that failed."""
        return len(self._failed)

    def settings(self, arm: Arm) -> Settings:
        """Return the settings of an arm."""
        return self.space.settings(self.space.candidates[i] for i in sorted(arm))

    def told(self, arm: Arm, sample: Sample) -> None:
        """Take in what an arm's runs showed. One failed run, ever, makes it a failed arm."""
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
        """Return the degrees of freedom of the spread of an arm that was tried."""
        return self._freedom[arm]

    def again(self, arm: Arm) -> tuple[float, float]:
        """Return the spread and degrees of freedom of an arm without its first look, which may have been a lucky one.

        Both 0 when it was looked at once.
        """
        squares, freedom = self._first[arm]
        rest = self._freedom[arm] - freedom
        return (max(LEAST, math.sqrt(max(0.0, self._squares[arm] - squares) / rest)), rest) if rest > 0 else (0.0, 0.0)

    def spread(self, arm: Arm) -> float:
        """Return the spread of an arm that was tried, a fraction, from all its runs."""
        return max(LEAST, math.sqrt(self._squares[arm] / self._freedom[arm]))

    def sensible(self, chosen: Iterable[int]) -> Arm:
        """Return the arm without candidates that are impossible in it, as `Space.settings` leaves them out."""
        asked = frozenset(chosen)
        arm = frozenset(i for i in asked if not self._conflicts[i] & asked)
        return frozenset(i for i in arm if self._requires[i] <= arm)

    def hopeful(self, arm: Arm) -> bool:
        """Return whether an arm may be tried: at most half of what may have made another arm fail is in it.

        What is in an arm that worked is cleared; if that is everything, the combination is at fault.
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
        """Return the arms to begin with, the most informative first: none, all, parts by group, and the profiles."""
        groups = {group: {i for i, each in enumerate(self.space.candidates) if each.group is group} for group in Group}
        every = set(range(len(self.space.candidates)))
        confining = {i for i, each in enumerate(self.space.candidates) if each.restricts_cpus}
        boots = {i for i, each in enumerate(self.space.candidates) if each.knobs & set(self.space.boot)}
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
        return list(dict.fromkeys(self.sensible(each) for each in sets))

    def strongest(self) -> list[Arm]:
        """Return the arms that would help if any did: everything, and the union of all profiles."""
        union = set().union(*(self._profile(profile) for _, profile in self.space.profiles))
        sets = (set(range(len(self.space.candidates))), union)
        return [arm for arm in dict.fromkeys(self.sensible(each) for each in sets) if arm]

    def _profile(self, profile: Settings) -> set[int]:
        wanted = dict(profile.values)
        candidates = enumerate(self.space.candidates)
        return {i for i, each in candidates if all(wanted.get(one.knob) == one.value for one in each.all)}

    def near(self, leaders: Sequence[Arm], drawn: Iterable[Arm], rng: np.random.Generator) -> list[Arm]:
        """Return arms worth considering: those tried, some that were `drawn`, and neighbours, mixtures and random
        changes of the leaders."""
        count = len(self.space.candidates)
        found = {arm for arm in self.tried if self.hopeful(arm)} | {self.sensible(arm) for arm in drawn}
        for arm in self._changed(leaders, count, rng):
            found.add(self.sensible(arm))
        return [arm for arm in sorted(found, key=sorted) if self.hopeful(arm)]

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
