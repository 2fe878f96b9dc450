"""The race: many combinations on few runs each, and runs only where they can still change the choice.

1. A portfolio (nothing, everything, parts by group, known profiles), each arm a few runs in one random order.
2. The untouched machine and the leaders again. Where all arms look alike (`Surface.evidence`), a duel of the untouched
   machine and the leader follows. A leader that does not win it, not counting the look that made it the leader, shows
   that the noise is not of the operating system: the race ends at once.
3. Batches of arms near the leaders, drawn by Thompson sampling (Thompson 1933, Biometrika 25:285) from a response
   surface that all runs support together: an arm gets runs as often as it may be the best.
4. A final on the last quarter of the runs: the leaders against each other, and against the untouched machine.

Each stage ends early when nothing can win by the rule's resolution any more. The race asks for at most a tenth of the
runs of greedy search with trials of 3 x 15 after 15, in blocks of its own: of the rule it heeds objective, threshold,
most_runs, resolution, and whether there are warm-ups at all.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence

import numpy as np
from scipy.special import chdtri

from becalm.methods.arms import UNTOUCHED, Arm, Arms
from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, Sample, SearchGenerator, TrialDesign
from becalm.methods.surface import Surface
from becalm.nouns.search_space import Group, Space

RUNS = 4
"""Counted runs of an arm in a row: three degrees of freedom for its spread at the price of one for its mean."""

AGAIN, BATCH, FINALISTS = 2, 3, 3
"""Leaders of the portfolio that run again; arms of a batch, and of the first round of the final, at most."""

FINAL = 0.25
"""Share of the runs that is kept for the final."""

TENTH, FEWEST = 6, 50
"""Runs for each trial that greedy search would make, a tenth of 3 x 15 + 15; and for however small a space."""

PROMISING = 0.7
"""A gain in log spread, a factor of two, with which no duel is needed."""

FEW = 4
"""Fewer good arms than these say nothing of whether all look alike."""

CLEAR, WON = 2.5, 0.4
"""Standard errors between two arms' log spreads from which one is out, and with which the untouched one is beaten."""

Asking = Generator[Ask, Sequence[Sample], None]


def race(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
    """Search by a race; see the module."""
    here = _Race(space, rule, rng)
    if not space.candidates or here.left < 2 * (RUNS + 1):
        return Choice(NO_SETTINGS, "There is nothing to choose from, or no runs to compare it with.")
    yield from here.ask(here.arms.portfolio(), "a first look at everything, nothing and what lies between")
    if here.open():
        again = [*here.leaders(1), UNTOUCHED, *here.leaders(AGAIN)]
        yield from here.ask(again, "the best so far against the untouched machine, again")
    while here.left > FINAL * here.allowed and here.open():
        if here.alike():
            yield from here.duel()
            continue
        batch = here.sampled()
        if not batch:
            break
        yield from here.ask(batch, "combinations that may be better, as all runs together suggest")
    width = FINALISTS
    while here.open():
        finalists = here.finalists(width)
        if len(finalists) < 2:
            break
        yield from here.ask(finalists, f"the final of {len(finalists)}")
        width = 2
    return here.choice()


class _Race:
    """The state of one race: what was measured, what it cost, and what follows from it."""

    def __init__(self, space: Space, rule: TrialDesign, rng: np.random.Generator) -> None:
        self.arms = Arms(space, rule.objective)
        self.rule = rule
        self.rng = rng
        self.used = 0
        self.allowed = _allowed(space, rule)
        self._warmups = min(1, rule.warmups)
        self._cost = RUNS + self._warmups
        self._better = math.log1p(rule.resolution)
        self._futile = self._duelled = False

    @property
    def left(self) -> int:
        """Runs that may still be asked for."""
        return self.allowed - self.used

    def ask(self, arms: Sequence[Arm], why: str, loops: int = 1) -> Asking:
        """Measure the first of these arms, as many as there are runs left for."""
        cost = loops * RUNS + self._warmups
        arms = list(dict.fromkeys(arms))[: self.left // cost]
        if not arms:
            return
        self.used += cost * len(arms)
        settings = tuple(self.arms.settings(arm) for arm in arms)
        samples = yield Ask(settings, loops, RUNS, self._warmups, why, self.arms.settings(self.leaders(1)[0]))
        for arm, sample in zip(arms, samples, strict=True):
            self.arms.told(arm, sample)

    def alike(self) -> bool:
        """Whether the arms look alike; asked until a duel has settled it."""
        affordable = self.left >= 2 * (2 * RUNS + self._warmups)
        if self._duelled or not affordable or len(self.arms.tried) < FEW or UNTOUCHED not in self.arms.tried:
            return False
        expected = self.expected()
        gain = expected[UNTOUCHED] - min(expected.values())
        return gain < PROMISING and self.surface().evidence() < 0.0

    def duel(self) -> Asking:
        """The leader against the untouched machine, not judged by the look that made it the leader."""
        self._duelled = True
        leader = next(arm for arm in self.leaders(2) if arm != UNTOUCHED)
        yield from self.ask([UNTOUCHED, leader], "whether anything beats the untouched machine", loops=2)
        self._futile = leader in self.arms.tried and not self._wins(leader)

    def _wins(self, arm: Arm) -> bool:
        """Whether an arm beats the untouched machine when it is looked at again."""
        if arm == UNTOUCHED or arm not in self.arms.tried:
            return False
        if UNTOUCHED not in self.arms.tried:
            return True
        (spread, freedom), both = self.arms.again(arm), [UNTOUCHED, arm]
        if not freedom:
            return False
        spreads = np.array([self.arms.spread(UNTOUCHED), spread])
        fresh = Surface.of(self.arms.matrix(both), spreads, np.array([self.arms.freedom(UNTOUCHED), freedom]))
        return bool(fresh.y[0] - fresh.y[1] >= WON * math.sqrt(float(fresh.variance.sum())))

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
        draws = mean[:, None] + root @ self.rng.standard_normal((len(pool), BATCH))
        wins = draws[pool.index(self.leaders(1)[0])] - draws.min(axis=0) > self._better
        return [pool[index] for index in draws.argmin(axis=0)] if wins.any() else []

    def finalists(self, width: int) -> list[Arm]:
        """The leader, and of the next those that may be better by the resolution; the untouched machine while it is
        unclear whether that is worse."""
        first, *rest = self.leaders(width)
        rivals = [arm for arm in rest if arm == UNTOUCHED or self._gain(arm, first, self._better) < CLEAR]
        if UNTOUCHED in self.arms.tried and UNTOUCHED not in (first, *rivals) and self._gain(UNTOUCHED, first) < CLEAR:
            rivals.append(UNTOUCHED)
        return [first, *rivals]

    def _gain(self, one: Arm, other: Arm, plus: float = 0.0) -> float:
        """How much less the other's log spread is, plus something, by their own runs, in standard errors."""
        surface, tried = self.surface(), self.arms.tried
        a, b = tried.index(one), tried.index(other)
        error = math.sqrt(surface.variance[a] + surface.variance[b])
        return (float(surface.y[a] - surface.y[b]) + plus) / error

    def open(self) -> bool:
        """Whether more runs are allowed and may change the choice."""
        return self.left >= 2 * self._cost and bool(self.arms.tried) and not self._futile and not self.reached()

    def reached(self) -> list[Arm]:
        """Arms whose spread is at most the threshold even at the upper end of its interval (one-sided, 80 %)."""
        upper = {
            arm: self.arms.spread(arm) * math.sqrt(self.arms.freedom(arm) / float(chdtri(self.arms.freedom(arm), 0.8)))
            for arm in self.arms.tried
        }
        return sorted(
            (arm for arm in upper if upper[arm] <= self.rule.threshold), key=lambda arm: (len(arm), upper[arm])
        )

    def choice(self) -> Choice:
        """The end: the leader, or nothing when nothing is clearly better than the untouched machine."""
        tried, count = self.arms.tried, len(self.arms.tried) + self.arms.failures
        failed = f", {self.arms.failures} of which failed" if self.arms.failures else ""
        runs = f"{self.used} runs of {count} combinations{failed}"
        if not tried:
            return Choice(NO_SETTINGS, f"Nothing could be compared: no combination ended well ({runs}).")
        if reached := self.reached():
            why = f"The threshold of {self.rule.threshold:.2%} was reached after {runs}."
            return Choice(self.arms.settings(reached[0]), why)
        best = self._best()
        if best == UNTOUCHED:
            why = (
                f"Nothing is clearly steadier than the untouched machine after {runs}: what makes this program vary "
                "seems to lie outside of what these settings change."
            )
            return Choice(NO_SETTINGS, why)
        chosen = self.arms.settings(best)
        why = f"The race chose {len(chosen.values)} of {self.arms.space.count} settings after {runs}."
        return Choice(chosen, why)

    def _best(self) -> Arm:
        """The leader among those that ran more than once, or one with fewer settings that is as good."""
        expected = self.expected()
        known = [arm for arm in expected if self.arms.again(arm)[1]] or list(expected)
        least = min(expected[arm] for arm in known)
        alike = [arm for arm in known if expected[arm] <= least + self._better]
        best = min(alike, key=lambda arm: (len(arm), expected[arm]))
        if self._futile or not self._wins(best) or expected.get(UNTOUCHED, math.inf) - expected[best] < self._better:
            return UNTOUCHED
        return best


def _allowed(space: Space, rule: TrialDesign) -> int:
    """Runs of a race: a tenth of those of a greedy search in this space, within what the rule allows."""
    tested = len(space.of(Group.NORMAL)) + len(space.of(Group.DANGEROUS)) + bool(space.of(Group.ISOLATION))
    own = max(FEWEST, TENTH * (1 + tested))
    return own if rule.most_runs is None else min(own, rule.most_runs)
