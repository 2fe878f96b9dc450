"""The race: many combinations with few runs each, and further runs only where they can still change the choice.

1. A portfolio (nothing, everything, parts by group, known profiles): each arm has a few runs, in one random order.
2. The baseline and the leaders again.
3. Batches of arms by Thompson sampling (Thompson 1933, Biometrika 25:285) from the posterior of a response surface
   fitted to all runs: an arm gets runs in proportion to its probability of being the best. The arms are near the
   leaders, or have all settings that help in a draw of the effects, which is far from the leaders while little is
   known.
4. A final with the last third of the runs: the leaders against each other and against the baseline. If all arms look
   alike (`SpreadSurface.evidence`), there is a duel instead: the baseline against the leader and the strongest arms,
   which are all settings together and the union of the known profiles. If they still look alike, and none of them wins
   without counting its first runs, no settings help, and the race ends.
5. While the choice is undecided and runs are left, 3 and 4 again. The choice is undecided while the posterior
   probability of a better choice is above one in twenty: one of the next best arms or an untried combination that is
   better by the resolution, or the baseline if it is better at all. After ten rounds only 4 is repeated, up to thirty
   rounds in all.

Each stage ends early when nothing can win by the rule's resolution any more. 1 to 4 request at most a tenth of the runs
of greedy search with trials of 3 x 15 after 15, and proportionally more with longer trials than the race's own.
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
"""The number of counted runs of an arm in a row, after an uncounted one: three degrees of freedom for its spread."""

ROUNDS = 10
"""The largest number of rounds with stage 3; later rounds only compare the leaders."""

ENOUGH = 3 * ROUNDS
"""The largest number of rounds with stage 4: differences that need more runs are too small to matter."""

AGAIN, BATCH, FINALISTS = 2, 3, 3
"""The numbers of leaders of the portfolio that run again, of arms in a batch, and of arms in the final, at most."""

FINAL = 0.35
"""The share of the runs that is reserved for the final."""

TENTH, FEWEST = 6, 50
"""The runs for each trial of a greedy search, a tenth of 3 x 15 + 15; and the least number of runs for any space."""

DRAWN = 8
"""The number of drawn arms, which have all settings that help in a draw of the effects, in the pool for a batch."""

PRIOR = math.log(0.6)
"""The log Bayes factor below which no setting helps; before the runs it is likelier that one does."""

ALIKE = 0.3
"""The share of the resolution by which an arm with fewer settings may be worse than the leader and still be chosen."""

PROMISING = 0.7
"""The gain in log spread, a factor of two, above which no duel is needed."""

FEW = 4
"""The smallest number of good arms that can show whether all look alike."""

CLEAR, WON = 2.5, 0.4
"""The differences of log spreads, in standard errors, from which an arm is out and from which it beats the baseline."""

DECIDED = 1.6
"""The lead of the best arm, in standard errors, that decides the race: one-sided, one time in twenty."""

CHANCE, DRAWS = 0.05, 100
"""The chance that an untried combination is better, up to which the race is decided; and the draws that estimate it."""

Asking = Generator[Ask, Sequence[Sample], None]


def race(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
    """Search by a race; see the module."""
    here = _Race(space, rule, rng)
    if not space.candidates:
        return Choice(NO_SETTINGS, "There are no settings to choose from.")
    if here.left < 2 * here.cost:
        return Choice(NO_SETTINGS, "There was too little time for the runs of a search.")
    yield from here.ask(here.arms.portfolio(), "a first look at all settings, none, and some")
    if here.open():
        again = [*here.leaders(1), UNTOUCHED, *here.leaders(AGAIN)]
        yield from here.ask(again, "the best so far against the baseline, again")
    for number in range(ENOUGH):
        used = here.used
        yield from _round(here, wide=number < ROUNDS)
        measured = here.used > used or number == 0
        if not measured or not (here.undecided() or (number + 1 < ROUNDS and here.promising())) or not here.extend():
            break
    return here.choice()


def _round(here: _Race, wide: bool) -> Asking:
    """Yield batches, if `wide`, and a final with the last third of the runs."""
    while wide and here.left > here.reserved() and here.open():
        batch = here.sample_batch()
        if not batch:
            break
        yield from here.ask(batch, "combinations that may be better, judged by all runs so far")
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
    """The state of a race: its results, its runs, and the surface."""

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
        """The number of runs that may still be requested."""
        return self.allowed - self.used

    def extend(self) -> bool:
        """Allow as many further runs as at first, within the rule, and return whether there are any."""
        more = self.used + self.size
        self.allowed = more if self.rule.most_runs is None else min(more, self.rule.most_runs)
        return self.open()

    def undecided(self) -> bool:
        """Return whether, by all runs, the baseline or one of the next best may still be better than the leader.

        The next best have to be better by the resolution.
        """
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
        """Measure as many of these arms as there are runs left for, from the first on.

        `times`: the multiple of the rule's loops in a trial.
        """
        loops, warmups = times * self.rule.loops, self.rule.warmup_runs
        cost = loops * self.rule.runs + warmups
        arms = list(dict.fromkeys(arms))[: self.left // cost]
        if not arms:
            return
        self.used += cost * len(arms)
        settings = tuple(self.arms.settings(arm) for arm in arms)
        samples = yield Ask(settings, loops, self.rule.runs, warmups, why, self.arms.settings(self.leaders(1)[0]))
        for arm, sample in zip(arms, samples, strict=True):
            self.arms.add(arm, sample)
        self._surface = self._expected = None

    def reserved(self) -> float:
        """Return the number of runs that batches leave for the final, or for a duel if all arms look alike."""
        final = FINAL * self.size
        return max(final, self._duel_cost() + BATCH * self.cost) if self.alike() else final

    def _duel_cost(self) -> int:
        return (1 + len(self._rivals())) * (2 * self.cost - self.rule.warmup_runs)

    def alike(self) -> bool:
        """Return whether the arms look alike and a duel is possible, once."""
        affordable = self.left >= self._duel_cost()
        if self._duelled or not affordable or len(self.arms.tried) < FEW or UNTOUCHED not in self.arms.tried:
            return False
        expected = self.expected()
        gain = expected[UNTOUCHED] - min(expected.values())
        return gain < PROMISING and self.surface().evidence() < PRIOR

    def duel(self) -> Asking:
        """Yield the duel of the leader and the strongest arms against the baseline; first runs do not count in it."""
        self._duelled = True
        rivals = self._rivals()
        yield from self.ask([UNTOUCHED, *rivals], "whether anything beats the baseline", times=2)
        alike = self.surface().evidence() < PRIOR
        self._futile = alike and rivals[0] in self.arms.tried and not any(self._wins(arm) for arm in rivals)

    def _rivals(self) -> list[Arm]:
        """Return the arms that may beat the baseline: the leader, and the strongest arms without a failed run."""
        leader = next((arm for arm in self.leaders(2) if arm != UNTOUCHED), UNTOUCHED)
        return list(dict.fromkeys([leader, *(arm for arm in self.arms.strongest() if arm in self.arms.tried)]))

    def _wins(self, arm: Arm) -> bool:
        """Return whether an arm beats the baseline without counting its first runs."""
        if arm == UNTOUCHED or arm not in self.arms.tried:
            return False
        if UNTOUCHED not in self.arms.tried:
            return True
        (spread, freedom), both = self.arms.later_spread(arm), [UNTOUCHED, arm]
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
        """Return the expected log spread of every tried arm, by the surface."""
        if self._expected is None:
            self._expected = dict(zip(self.arms.tried, self.surface().means().tolist(), strict=True))
        return self._expected

    def leaders(self, count: int) -> list[Arm]:
        """Return the arms with the lowest expected spread; the baseline if no arm worked."""
        if not self.arms.tried:
            return [UNTOUCHED]
        expected = self.expected()
        return sorted(expected, key=lambda arm: expected[arm])[:count]

    def sample_batch(self) -> list[Arm]:
        """Return the arms of the next batch: each has the lowest spread in a draw from the surface's posterior."""
        best, wins = self._draw(BATCH)
        return best if wins.any() else []

    def promising(self) -> bool:
        """Return whether an untried combination may be better than the leader by the resolution."""
        if not self.arms.tried or self._futile or self.reached():
            return False
        best, wins = self._draw(DRAWS)
        new = np.array([arm not in self.arms.tried for arm in best])
        return float(np.mean(wins & new)) > CHANCE

    @one_thread()
    def _draw(self, count: int) -> tuple[list[Arm], npt.NDArray[np.bool_]]:
        """Return the arm with the lowest spread in each draw from the surface's posterior, and whether it wins.

        It wins if its spread is lower than the leader's by the resolution; a boolean array of shape (count,).
        """
        effect, spread = self.surface().effects()
        drawn = self.rng.multivariate_normal(effect, spread, DRAWN)
        helping = [frozenset(np.flatnonzero(row < 0).tolist()) for row in drawn]
        pool = self.arms.near(self.leaders(3), helping, self.rng)
        mean, covariance = self.surface().predict(self.arms.matrix(pool))
        root = np.linalg.cholesky(covariance + 1e-6 * np.eye(len(pool)))
        draws = mean[:, None] + root @ self.rng.standard_normal((len(pool), count))
        wins = draws[pool.index(self.leaders(1)[0])] - draws.min(axis=0) > self._better
        return [pool[index] for index in draws.argmin(axis=0)], wins

    def finalists(self, width: int) -> list[Arm]:
        """Return the leader, next arms that may be better by the resolution, and a baseline not clearly worse."""
        first, *rest = self.leaders(width)
        rivals = [arm for arm in rest if arm == UNTOUCHED or self._gain(arm, first, self._better) < CLEAR]
        if UNTOUCHED in self.arms.tried and UNTOUCHED not in (first, *rivals) and self._gain(UNTOUCHED, first) < CLEAR:
            rivals.append(UNTOUCHED)
        return [first, *rivals]

    def _gain(self, arm: Arm, other: Arm, plus: float = 0.0) -> float:
        """Return by how much the other's log spread is lower, plus `plus`, in standard errors, by their own runs."""
        surface, tried = self.surface(), self.arms.tried
        a, b = tried.index(arm), tried.index(other)
        error = math.sqrt(surface.variance[a] + surface.variance[b])
        return (float(surface.y[a] - surface.y[b]) + plus) / error

    def open(self) -> bool:
        """Return whether further runs are allowed and may change the choice."""
        return self.left >= 2 * self.cost and bool(self.arms.tried) and not self._futile and not self.reached()

    def reached(self) -> list[Arm]:
        """Return the arms whose spread is at most the threshold at the upper end of a one-sided interval of 80 %."""
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
        """Return the choice: the leader, or no settings if none is clearly better than the baseline."""
        tried, count = self.arms.tried, len(self.arms.tried) + self.arms.failures
        failed = f", including {self.arms.failures} that failed" if self.arms.failures else ""
        runs = f"{count} combinations{failed}"
        if not tried:
            return Choice(NO_SETTINGS, f"Nothing could be compared: no combination ended well ({runs}).")
        if reached := self.reached():
            why = f"The threshold of {self.rule.threshold:.2%} was reached after {runs}."
            return Choice(self.arms.settings(reached[0]), why)
        best = self._best()
        if best == UNTOUCHED:
            why = f"No setting clearly varies less than the baseline after {runs}"
            if all(arm in tried and self.arms.later_spread(arm)[1] for arm in self.arms.strongest()):
                why += ", not even all settings together: the cause of the spread may be beyond these settings."
            return Choice(NO_SETTINGS, why if why.endswith(".") else f"{why}; more runs may show a difference.")
        chosen = self.arms.settings(best)
        why = f"The race chose {len(chosen.values)} of {self.arms.space.count} settings after {runs}."
        return Choice(chosen, why)

    def _best(self) -> Arm:
        """Return the leader of the arms that ran more than once, or an arm with fewer settings that is as good."""
        expected = self.expected()
        repeated = [arm for arm in expected if self.arms.later_spread(arm)[1]] or list(expected)
        least = min(expected[arm] for arm in repeated)
        alike = [arm for arm in repeated if expected[arm] <= least + ALIKE * self._better]
        best = min(alike, key=lambda arm: (len(arm), expected[arm]))
        none = UNTOUCHED in expected and self.surface().evidence() < PRIOR
        if self._futile or none or expected.get(UNTOUCHED, math.inf) - expected[best] < self._better:
            return UNTOUCHED
        return best


def round_size(space: Space, rule: TrialDesign) -> int:
    """Return the runs of a round: a tenth of those of a greedy search in this space, more if trials are longer."""
    tested = len(space.of(Group.NORMAL)) + len(space.of(Group.DANGEROUS)) + bool(space.of(Group.ISOLATION))
    return max(1, max(FEWEST, TENTH * (1 + tested)) * rule.cost // (RUNS + 1))
