"""The race: many combinations on few runs each, and runs only where they can still change the choice.

1. A portfolio (nothing, everything, parts by group, known profiles), each arm a few runs in one random order.
2. The untouched machine and the leaders again. Where all arms look alike (`Surface.evidence`), the noise is not of
   the operating system, and the race ends at once.
3. Batches of new arms near the leaders, drawn by Thompson sampling (Thompson 1933, Biometrika 25:285) from a response
   surface that all runs support together: an arm gets runs as often as it may be the best.
4. A final on the last third of the runs: the leaders, the untouched among them, against each other, by halves.
It uses a tenth of the runs of greedy search with trials of 3 x 15 after 15.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence

import numpy as np
from scipy.special import chdtri

from becalm.methods.arms import UNTOUCHED, Arm, Arms
from becalm.methods.surface import Surface
from becalm.search import NO_SETTINGS, Ask, Choice, Rule, Sample, Searching
from becalm.space import Group, Space

RUNS = 4
"""Counted runs of an arm in a row: three degrees of freedom for its spread at the price of one for its mean."""

ARMS = 5
"""Arms of a batch at most."""

TENTH = 6
"""Runs for each trial that greedy search would make: a tenth of 3 x 15 + 15."""

FEWEST = 30
"""Runs that a race takes however small the space is."""

FINAL = 0.35
"""Share of the runs that is kept for the final."""

PROMISING = 0.5
"""A gain on the surface for which one goes on even where the arms look alike as a whole."""

ALIKE = 0.0
CLEAR, UNCLEAR = 2.5, 0.75
"""Standard errors between two arms' log spreads from which one is out, and below which they count as alike."""

Asking = Generator[Ask, Sequence[Sample], None]


def race(space: Space, rule: Rule, rng: np.random.Generator) -> Searching:
    """Search by a race; see the module."""
    if not space.candidates:
        return Choice(NO_SETTINGS, "There are no settings to choose from.")
    here = _Race(space, rule, rng)
    yield from here.ask(here.arms.portfolio(), "a first look at everything, nothing and what lies between")
    if here.room(1) and here.arms.tried and not here.reached():
        yield from here.ask([*here.leaders(1), UNTOUCHED, *here.leaders(3)], "the best so far against the untouched machine, again")
    while here.left > FINAL * here.allowed and here.room(2) and here.open():
        yield from here.ask(here.sampled(), "combinations that may be better, as all runs together suggest")
    width = 4
    while here.room(2) and here.open():
        finalists = here.finalists(width)
        if len(finalists) < 2:
            break
        yield from here.ask(finalists, f"the final of {len(finalists)}")
        width = max(2, width - 1)
    return here.choice()


class _Race:
    """The state of one race: what was measured, what it cost, and what follows from it."""

    def __init__(self, space: Space, rule: Rule, rng: np.random.Generator) -> None:
        self.arms = Arms(space, rule.objective)
        self.rule = rule
        self.rng = rng
        self.used = 0
        self.allowed = _allowed(space, rule)
        self._warmups = min(1, rule.warmups)
        self._futile = False

    @property
    def left(self) -> int:
        """Runs that may still be asked for."""
        return self.allowed - self.used

    def room(self, arms: int) -> bool:
        """Whether there are runs left for so many arms."""
        return self.left >= arms * (RUNS + self._warmups)

    def ask(self, arms: list[Arm], why: str) -> Asking:
        """Measure the first of these arms for which there are runs left."""
        cost = RUNS + self._warmups
        arms = [arm for arm in dict.fromkeys(arms) if self.arms.hopeful(arm)][: self.left // cost]
        if arms:
            self.used += cost * len(arms)
            settings = tuple(self.arms.settings(arm) for arm in arms)
            samples = yield Ask(settings, 1, RUNS, self._warmups, why, self.arms.settings(self.leaders(1)[0]))
            for arm, sample in zip(arms, samples, strict=True):
                self.arms.told(arm, sample)

    def surface(self) -> Surface:
        """What all good runs so far say."""
        tried = self.arms.tried
        spread = np.array([self.arms.spread(arm) for arm in tried])
        return Surface.of(self.arms.matrix(tried), spread, np.array([float(self.arms.freedom(arm)) for arm in tried]))

    def expected(self) -> dict[Arm, float]:
        """Log spread of every arm that was tried, as the surface has it."""
        tried = self.arms.tried
        mean, _ = self.surface().predict(self.arms.matrix(tried))
        return dict(zip(tried, mean.tolist(), strict=True))

    def leaders(self, count: int) -> list[Arm]:
        """The arms with the lowest expected spread; the untouched one when nothing worked."""
        if not self.arms.tried:
            return [UNTOUCHED]
        expected = self.expected()
        return sorted(expected, key=lambda arm: expected[arm])[:count]

    def sampled(self) -> list[Arm]:
        """Arms for the next batch: each has the lowest spread in one draw from the surface's posterior."""
        pool = self.arms.near(self.leaders(3), self.rng)
        mean, covariance = self.surface().predict(self.arms.matrix(pool))
        root = np.linalg.cholesky(covariance + 1e-6 * np.eye(len(pool)))
        draws = mean[:, None] + root @ self.rng.standard_normal((len(pool), ARMS))
        return [pool[index] for index in draws.argmin(axis=0)]

    def finalists(self, width: int) -> list[Arm]:
        """Leaders that may still be the best by a margin that matters, and the untouched machine while it is unclear
        whether that is worse."""
        leaders = self.leaders(width)
        first = leaders[0]
        rivals = [arm for arm in leaders[1:] if self._gain(arm, first) < CLEAR]
        if UNTOUCHED not in rivals and UNTOUCHED in self.arms.tried and first != UNTOUCHED:
            rivals += [UNTOUCHED] if self._gain(UNTOUCHED, first) < CLEAR else []
        return [first, *rivals]

    def _gain(self, one: Arm, other: Arm) -> float:
        """How much less the other's spread is by their own runs, in standard errors."""
        surface, tried = self.surface(), self.arms.tried
        a, b = tried.index(one), tried.index(other)
        return float((surface.y[a] - surface.y[b]) / math.sqrt(surface.variance[a] + surface.variance[b]))

    def open(self) -> bool:
        """Whether more runs may change the choice."""
        if not self.arms.tried or self.reached():
            return False
        if UNTOUCHED in self.arms.tried:
            expected = self.expected()
            gain = expected[UNTOUCHED] - min(expected.values())
            self._futile = gain < PROMISING and self.surface().evidence() < ALIKE
        return not self._futile

    def reached(self) -> list[Arm]:
        """Arms whose spread is at most the threshold even at the upper end of its interval (one-sided, 80 %)."""
        upper = {
            arm: self.arms.spread(arm) * math.sqrt(self.arms.freedom(arm) / float(chdtri(self.arms.freedom(arm), 0.8)))
            for arm in self.arms.tried
        }
        return sorted((arm for arm in upper if upper[arm] <= self.rule.threshold), key=lambda arm: (len(arm), upper[arm]))

    def choice(self) -> Choice:
        """The end: the leader, or nothing when nothing is clearly better than the untouched machine."""
        tried, runs = self.arms.tried, f"{self.used} runs of {len(self.arms.tried) + self.arms.failures} combinations"
        if not tried:
            return Choice(NO_SETTINGS, f"Nothing could be compared: no combination ended well or none was affordable ({runs}).")
        reached = self.reached()
        if reached:
            return Choice(
                self.arms.settings(reached[0]),
                f"The threshold of {self.rule.threshold:.2%} was reached with {len(reached[0])} settings, after {runs}.",
            )
        twice = [arm for arm in tried if self.arms.freedom(arm) > RUNS] or tried
        expected = self.expected()
        best = min(twice, key=lambda arm: expected[arm])
        if UNTOUCHED in tried and best != UNTOUCHED:
            gain = expected[UNTOUCHED] - expected[best]
            if self._futile or self._gain(UNTOUCHED, best) < UNCLEAR or gain < math.log1p(self.rule.margin):
                best = UNTOUCHED
        if best == UNTOUCHED:
            return Choice(
                NO_SETTINGS,
                f"No combination is clearly steadier than the untouched machine after {runs}: what makes this program "
                "vary is not what these settings change.",
            )
        return Choice(
            self.arms.settings(best),
            f"The race chose {len(best)} of {len(self.arms.space.candidates)} settings after {runs}; the final compared "
            "the best of them with each other and with the untouched machine.",
        )


def _allowed(space: Space, rule: Rule) -> int:
    """Runs of a race: a tenth of those of a greedy search in this space, within what the rule allows."""
    tested = len(space.of(Group.NORMAL)) + len(space.of(Group.DANGEROUS)) + bool(space.of(Group.ISOLATION))
    own = max(FEWEST, TENTH * (1 + tested))
    return own if rule.most_runs is None else min(own, rule.most_runs)
