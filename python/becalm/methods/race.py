"""The race: many combinations on few runs each, and runs only where they can still change the choice.

1. A portfolio (nothing, everything, parts by group, known profiles), each arm a few runs in one random order.
2. The baseline and the leaders again.
3. Batches of arms drawn by Thompson sampling (Thompson 1933, Biometrika 25:285) from a response surface that all runs
   support together: an arm gets runs as often as it may be the best. They are near the leaders, or all that helps where
   the effect of each setting is drawn from what is known of it, which is far from them as long as little is known.
4. A final on the last third of the runs: the leaders against each other, and against the baseline. Where all arms look
   alike (`Surface.evidence`), a duel instead: the baseline against the leader and the strongest settings there are,
   which are all together and the union of the known profiles. Where they still look alike, and none of them wins
   it, not counting the first look at each, no settings help: the race ends.
5. While the choice is undecided and runs are left: 3 and 4 again. It is undecided while the surface leaves more than
   one chance in twenty that one of the next best is better by the resolution, or the baseline at all, or a combination
   that has not been tried. After ten times only 4, which ends after thirty.

Each stage ends early when nothing can win by the rule's resolution any more. 1 to 4 ask for at most a tenth of the
runs of greedy search with trials of 3 x 15 after 15; with longer trials than the race's own for as many more.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from becalm.methods.arms import UNTOUCHED, Arm, Arms
from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, Sample, SearchGenerator, TrialDesign
from becalm.methods.spread_surface import SpreadSurface
from becalm.nouns.search_space import Group, Space
from becalm.stats.one_thread import one_thread

RUNS = 4
"""The number of counted runs of an arm in a row: three degrees of freedom for its spread at the price of one for its
mean. After one that is not counted."""

ROUNDS = 10
"""Times that 3 is done, at most: then the leaders alone run against each other until it is decided."""

ENOUGH = 3 * ROUNDS
"""Times that 4 is done, at most: what thirty times the runs could not tell apart differs by too little to matter."""

AGAIN, BATCH, FINALISTS = 2, 3, 3
"""Leaders of the portfolio that run again; arms of a batch, and of the first round of the final, at most."""

FINAL = 0.35
"""Share of the runs that is kept for the final."""

TENTH, FEWEST = 6, 50
"""Runs for each trial that greedy search would make, a tenth of 3 x 15 + 15; and for however small a space."""

DRAWN = 8
"""Arms that all settings which help make together, by draws of their effects, among those a batch is chosen from."""

PRIOR = math.log(0.6)
"""Log of a Bayes factor below which no setting helps: that one does is the likelier by so much, before the runs."""

ALIKE = 0.3
"""Share of the resolution by which an arm may be worse than the leader, and be chosen for having fewer settings."""

PROMISING = 0.7
"""A gain in log spread, a factor of two, with which no duel is needed."""

FEW = 4
"""Fewer good arms than these say nothing of whether all look alike."""

CLEAR, WON = 2.5, 0.4
"""Standard errors between two arms' log spreads from which one is out, and with which the untouched one is beaten."""

DECIDED = 1.6
"""Standard errors by which the leader is the best, for the race to be decided: one-sided, one time in twenty."""

CHANCE, DRAWS = 0.05, 100
"""Chance that a combination which was not tried is better, up to which the race is decided; draws that say it."""

Asking = Generator[Ask, Sequence[Sample], None]


def race(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
    """Search by a race; see the module."""
    here = _Race(space, rule, rng)
    if not space.candidates:
        return Choice(NO_SETTINGS, "There is nothing to choose from.")
    if here.left < 2 * here.cost:
        return Choice(NO_SETTINGS, "A search needs more runs than there was time for.")
    yield from here.ask(here.arms.portfolio(), "a first look at everything, nothing and what lies between")
    if here.open():
        again = [*here.leaders(1), UNTOUCHED, *here.leaders(AGAIN)]
        yield from here.ask(again, "the best so far against the baseline, again")
    for number in range(ENOUGH):
        used = here.used
        yield from _round(here, wide=number < ROUNDS)
        asked = here.used > used or number == 0
        if not asked or not (here.undecided() or (number + 1 < ROUNDS and here.promising())) or not here.extend():
            break
    return here.choice()


def _round(here: _Race, wide: bool) -> Asking:
    """Yield batches, when `wide`, and a final on the last third of the runs."""
    while wide and here.left > here.kept() and here.open():
        batch = here.sampled()
        if not batch:
            break
        yield from here.ask(batch, "combinations that may be better, as all runs together suggest")
    if here.open() and here.alike():
        yield from here.duel()
    width = FINALISTS
    while here.open():
        finalists = here.finalists(width)
        if len(finalists) < 2:
            break
        yield from here.ask(finalists, f"the final of {len(finalists)}")
        width = 2


class _Race:
    """The state of one race: what was measured, what it cost, and what follows from it."""

    def __init__(self, space: Space, rule: TrialDesign, rng: np.random.Generator) -> None:
        self.arms = Arms(space, rule.objective)
        self.rule = rule
        self.rng = rng
        self.used = 0
        self.cost = rule.cost
        self.size = round_size(space, rule)
        self.allowed = self.size if rule.most_runs is None else min(self.size, rule.most_runs)
        self._surface: SpreadSurface | None = None
        self._expected: dict[Arm, float] | None = None
        self._better = math.log1p(rule.resolution)
        self._futile = self._duelled = False

    @property
    def left(self) -> int:
        """Runs that may still be asked for."""
        return self.allowed - self.used

    def extend(self) -> bool:
        """Allow as many runs more as there were at first, within the rule; whether that is any."""
        more = self.used + self.size
        self.allowed = more if self.rule.most_runs is None else min(more, self.rule.most_runs)
        return self.open()

    def undecided(self) -> bool:
        """Return whether the baseline, or one of the next best, may still be better than the leader by the resolution,
        according to all runs together."""
        if not self.arms.tried or self._futile or self.reached():
            return False
        first, *rest = self.leaders(FINALISTS)
        rivals = [*rest, UNTOUCHED] if UNTOUCHED in self.arms.tried and UNTOUCHED not in (first, *rest) else rest
        if first == UNTOUCHED or not rivals:
            return bool(rivals)
        mean, covariance = self.surface().predict(self.arms.matrix([first, *rivals]))
        variance = covariance[0, 0] + np.diag(covariance)[1:] - 2 * covariance[0, 1:]
        least = np.where([arm == UNTOUCHED for arm in rivals], 0.0, self._better)
        return bool(np.any(mean[0] - mean[1:] - least > -DECIDED * np.sqrt(np.maximum(variance, 0.0))))

    def ask(self, arms: Sequence[Arm], why: str, times: int = 1) -> Asking:
        """Measure the first of these arms, as many as there are runs left for. `times`: the loops of a trial."""
        loops, warmups = times * self.rule.loops, self.rule.warmup_runs
        cost = loops * self.rule.runs + warmups
        arms = list(dict.fromkeys(arms))[: self.left // cost]
        if not arms:
            return
        self.used += cost * len(arms)
        settings = tuple(self.arms.settings(arm) for arm in arms)
        samples = yield Ask(settings, loops, self.rule.runs, warmups, why, self.arms.settings(self.leaders(1)[0]))
        for arm, sample in zip(arms, samples, strict=True):
            self.arms.told(arm, sample)
        self._surface = self._expected = None

    def kept(self) -> float:
        """Return the runs that batches leave: for the final, or for a duel where all arms look alike."""
        final = FINAL * self.size
        return max(final, self._duel_cost() + BATCH * self.cost) if self.alike() else final

    def _duel_cost(self) -> int:
        return (1 + len(self._rivals())) * (2 * self.cost - self.rule.warmup_runs)

    def alike(self) -> bool:
        """Return whether the arms look alike, until a duel has settled it."""
        affordable = self.left >= self._duel_cost()
        if self._duelled or not affordable or len(self.arms.tried) < FEW or UNTOUCHED not in self.arms.tried:
            return False
        expected = self.expected()
        gain = expected[UNTOUCHED] - min(expected.values())
        return gain < PROMISING and self.surface().evidence() < PRIOR

    def duel(self) -> Asking:
        """Yield the leader and the strongest settings against the baseline, not judged by the first look at them."""
        self._duelled = True
        rivals = self._rivals()
        yield from self.ask([UNTOUCHED, *rivals], "whether anything beats the baseline", times=2)
        alike = self.surface().evidence() < PRIOR
        self._futile = alike and rivals[0] in self.arms.tried and not any(self._wins(arm) for arm in rivals)

    def _rivals(self) -> list[Arm]:
        """Return the arms that may beat the baseline: the leader, and the strongest settings as far as they work."""
        leader = next((arm for arm in self.leaders(2) if arm != UNTOUCHED), UNTOUCHED)
        return list(dict.fromkeys([leader, *(arm for arm in self.arms.strongest() if arm in self.arms.tried)]))

    def _wins(self, arm: Arm) -> bool:
        """Return whether an arm beats the baseline when it is looked at again."""
        if arm == UNTOUCHED or arm not in self.arms.tried:
            return False
        if UNTOUCHED not in self.arms.tried:
            return True
        (spread, freedom), both = self.arms.again(arm), [UNTOUCHED, arm]
        if not freedom:
            return False
        spreads = np.array([self.arms.spread(UNTOUCHED), spread])
        fresh = SpreadSurface.of(self.arms.matrix(both), spreads, np.array([self.arms.freedom(UNTOUCHED), freedom]))
        return bool(fresh.y[0] - fresh.y[1] >= WON * math.sqrt(float(fresh.variance.sum())))

    def surface(self) -> SpreadSurface:
        """Return the surface of all good runs so far."""
        if self._surface is None:
            self._surface = self._fitted()
        return self._surface

    def _fitted(self) -> SpreadSurface:
        tried = self.arms.tried
        spread = np.array([self.arms.spread(arm) for arm in tried])
        return SpreadSurface.of(
            self.arms.matrix(tried), spread, np.array([float(self.arms.freedom(arm)) for arm in tried])
        )

    def expected(self) -> dict[Arm, float]:
        """Return the log spread of every arm that was tried, by the surface."""
        if self._expected is None:
            self._expected = dict(zip(self.arms.tried, self.surface().means().tolist(), strict=True))
        return self._expected

    def leaders(self, count: int) -> list[Arm]:
        """Return the arms with the lowest expected spread; the untouched one when none worked."""
        if not self.arms.tried:
            return [UNTOUCHED]
        expected = self.expected()
        return sorted(expected, key=lambda arm: expected[arm])[:count]

    def sampled(self) -> list[Arm]:
        """Return arms for the next batch: each has the lowest spread in one draw from the surface's posterior."""
        best, wins = self._drawn(BATCH)
        return best if wins.any() else []

    def promising(self) -> bool:
        """Return whether a combination that has not been tried may be better than the leader by the resolution."""
        if not self.arms.tried or self._futile or self.reached():
            return False
        best, wins = self._drawn(DRAWS)
        new = np.array([arm not in self.arms.tried for arm in best])
        return float(np.mean(wins & new)) > CHANCE

    @one_thread()
    def _drawn(self, count: int) -> tuple[list[Arm], npt.NDArray[np.bool_]]:
        """Return draws from the surface's posterior: which arm has the lowest spread in each, and whether that is lower
        than the leader's by the resolution."""
        effect, spread = self.surface().effects()
        drawn = self.rng.multivariate_normal(effect, spread, DRAWN)
        helping = [frozenset(np.flatnonzero(each < 0).tolist()) for each in drawn]
        pool = self.arms.near(self.leaders(3), helping, self.rng)
        mean, covariance = self.surface().predict(self.arms.matrix(pool))
        root = np.linalg.cholesky(covariance + 1e-6 * np.eye(len(pool)))
        draws = mean[:, None] + root @ self.rng.standard_normal((len(pool), count))
        wins = draws[pool.index(self.leaders(1)[0])] - draws.min(axis=0) > self._better
        return [pool[index] for index in draws.argmin(axis=0)], wins

    def finalists(self, width: int) -> list[Arm]:
        """Return the leader, and of the next those that may be better by the resolution; the baseline while it is
        unclear whether that is worse."""
        first, *rest = self.leaders(width)
        rivals = [arm for arm in rest if arm == UNTOUCHED or self._gain(arm, first, self._better) < CLEAR]
        if UNTOUCHED in self.arms.tried and UNTOUCHED not in (first, *rivals) and self._gain(UNTOUCHED, first) < CLEAR:
            rivals.append(UNTOUCHED)
        return [first, *rivals]

    def _gain(self, arm: Arm, other: Arm, plus: float = 0.0) -> float:
        """Return how much lower the other's log spread is, plus `plus`, by their own runs, in standard errors."""
        surface, tried = self.surface(), self.arms.tried
        a, b = tried.index(arm), tried.index(other)
        error = math.sqrt(surface.variance[a] + surface.variance[b])
        return (float(surface.y[a] - surface.y[b]) + plus) / error

    def open(self) -> bool:
        """Return whether more runs are allowed and may change the choice."""
        return self.left >= 2 * self.cost and bool(self.arms.tried) and not self._futile and not self.reached()

    def reached(self) -> list[Arm]:
        """Return arms whose spread is at most the threshold even at the upper end of its interval (one-sided, 80 %)."""
        if self.rule.threshold <= 0.0:
            return []
        upper = {
            arm: self.arms.spread(arm) * math.sqrt(self.arms.freedom(arm) / float(chdtri(self.arms.freedom(arm), 0.8)))
            for arm in self.arms.tried
        }
        return sorted(
            (arm for arm in upper if upper[arm] <= self.rule.threshold), key=lambda arm: (len(arm), upper[arm])
        )

    def choice(self) -> Choice:
        """Return the end: the leader, or no settings when none is clearly better than the baseline."""
        tried, count = self.arms.tried, len(self.arms.tried) + self.arms.failures
        failed = f", {self.arms.failures} of which failed" if self.arms.failures else ""
        runs = f"{count} combinations{failed}"
        if not tried:
            return Choice(NO_SETTINGS, f"Nothing could be compared: no combination ended well ({runs}).")
        if reached := self.reached():
            why = f"The threshold of {self.rule.threshold:.2%} was reached after {runs}."
            return Choice(self.arms.settings(reached[0]), why)
        best = self._best()
        if best == UNTOUCHED:
            why = f"No setting clearly varies less than the baseline after {runs}"
            if all(arm in tried and self.arms.again(arm)[1] for arm in self.arms.strongest()):
                why += ", not even all settings together: what makes this program vary may be out of their reach."
            return Choice(NO_SETTINGS, why if why.endswith(".") else f"{why}; more runs would say more.")
        chosen = self.arms.settings(best)
        why = f"The race chose {len(chosen.values)} of {self.arms.space.count} settings after {runs}."
        return Choice(chosen, why)

    def _best(self) -> Arm:
        """Return the leader among those that ran more than once, or one with fewer settings that is as good."""
        expected = self.expected()
        known = [arm for arm in expected if self.arms.again(arm)[1]] or list(expected)
        least = min(expected[arm] for arm in known)
        alike = [arm for arm in known if expected[arm] <= least + ALIKE * self._better]
        best = min(alike, key=lambda arm: (len(arm), expected[arm]))
        none = UNTOUCHED in expected and self.surface().evidence() < PRIOR
        if self._futile or none or expected.get(UNTOUCHED, math.inf) - expected[best] < self._better:
            return UNTOUCHED
        return best


def round_size(space: Space, rule: TrialDesign) -> int:
    """Return the runs of one round: a tenth of those of a greedy search in this space, more where trials are longer."""
    tested = len(space.of(Group.NORMAL)) + len(space.of(Group.DANGEROUS)) + bool(space.of(Group.ISOLATION))
    return max(1, max(FEWEST, TENTH * (1 + tested)) * rule.cost // (RUNS + 1))
