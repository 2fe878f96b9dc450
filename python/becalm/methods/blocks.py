"""The blocks of a search for the fastest settings: requests that have the default among their arms, within a limit."""

from __future__ import annotations

import heapq
from collections.abc import Generator, Sequence
from operator import itemgetter

from becalm.methods.log_times import LogTimes
from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, Forecast, Sample, TrialDesign
from becalm.methods.surface_end import lost_trials
from becalm.nouns.settings import Settings

FINALISTS = 3
"""The number of arms in the final of a search."""

FINAL = 0.2
"""The share of the trials for the final."""

MANY = 10**6
"""The number of trials of a search without a limit."""

LOST = "The program failed on the machine as it is: there is nothing to compare with."

Asking = Generator[Ask, Sequence[Sample], None]


class Blocks:
    """The requests of a search, each with the default as an arm, so that drift is visible. `times`: their results.

    `evaluations`: the largest number of trials of other arms than the default; None for the limit of the rule only.
    `planned`: the number of these trials for which there are runs.
    """

    def __init__(self, rule: TrialDesign, evaluations: int | None) -> None:
        self.rule = rule
        self.times = LogTimes(rule.objective)
        self.runs = 0
        self.trials = 0
        self._most = self.planned = MANY if evaluations is None else evaluations
        if rule.most_runs is not None:
            # At most a tenth of the runs is for the default.
            self.planned = min(self._most, max(1, rule.most_runs // rule.cost * 10 // 11))

    @property
    def left(self) -> int:
        """The number of trials left before the final; 0 if the default itself failed."""
        return 0 if self.lost else max(0, self.planned - int(FINAL * self.planned) - self.trials)

    def room(self) -> int:
        """Return the number of arms besides the default that the next block may have."""
        allowed = [self._most - self.trials]
        if self.rule.most_runs is not None:
            allowed.append((self.rule.most_runs - self.runs) // self.rule.cost - 1)
        return max(0, min(allowed))

    def ask(self, arms: Sequence[Settings], why: str, best: Settings) -> Asking:
        """Measure the default and as many of these arms as there is room for, from the first on."""
        new = [arm for arm in dict.fromkeys(arms) if arm != NO_SETTINGS and not self.times.failed(arm)]
        if not (new := new[: self.room()]):
            return
        rule = self.rule
        self.times.add((yield Ask((NO_SETTINGS, *new), rule.loops, rule.runs, rule.warmup_runs, why, best)))
        self._count(len(new))

    def proceed(self, again: int, new: Sequence[Settings], why: str) -> Asking:
        """Measure `again` of the best arms again, and new ones as far as there are trials left before the final."""
        arms = list(dict.fromkeys([*self.leaders(again), *new]))
        yield from self.ask(arms[: self.left], why, self.best())

    def leaders(self, count: int) -> list[Settings]:
        """Return the best arms without a failed run, by all runs."""
        expected = self.times.expected()
        others = ((arm, level) for arm, level in expected.items() if arm != NO_SETTINGS)
        return [arm for arm, _ in heapq.nsmallest(count, others, key=itemgetter(1))]

    def best(self) -> Settings:
        """Return the present choice: one of the leaders, or the default."""
        return NO_SETTINGS if self.lost else self.times.faster(self.leaders(FINALISTS))

    def final(self) -> Asking:
        """Yield requests that compare the leaders and the default, while they can still change the choice."""
        finalists = self.leaders(FINALISTS)
        while finalists and not self.lost and self.room() >= len(finalists):
            yield from self.ask(finalists, f"the best {len(finalists)} against each other", self.best())
            finalists = [arm for arm in finalists if not self.times.failed(arm)] or self.leaders(FINALISTS)
            first = min(finalists, key=self.times.level, default=NO_SETTINGS)
            finalists = [arm for arm in finalists if arm == first or not self.times.differs(arm, first)]
            if len(finalists) == 1 and self.times.differs(first, NO_SETTINGS):
                break

    def forecast(self, first: int, again: int, most: int) -> Forecast:
        """Return the forecast of a search with `most` steps, whose finalists never differ. It uses up these blocks.

        `first`: the arms of each step; `again`: the best arms that each step but the first one repeats.
        """
        controls = 0
        for step in range(most):
            arms = min(first + (again if step else 0), self.left, self.room())
            if arms < 1:
                break
            self._count(arms)
            controls += 1
        while self.room() >= FINALISTS:
            self._count(FINALISTS)
            controls += 1
        return Forecast(self.runs, controls * self.rule.loops * self.rule.runs)

    def _count(self, arms: int) -> None:
        self.runs += self.rule.cost * (arms + 1)
        self.trials += arms

    @property
    def lost(self) -> bool:
        """Whether the default itself failed, so that there is nothing to compare with."""
        return self.times.failed(NO_SETTINGS)

    def choice(self, some: str, none: str) -> Choice:
        """Return the choice of the search. `some`, `none`: its reason if it is faster than the default, and if not."""
        if self.lost:
            return Choice(NO_SETTINGS, LOST)
        chosen = self.best()
        return Choice(chosen, none if chosen == NO_SETTINGS else some)

    def spent(self) -> str:
        """Return the number of trials, as a part of a sentence."""
        failed = lost_trials(self.times.failures, self.times.ended_early)
        return f"{self.trials} trials{failed} ({self.runs} runs, including those of the default)"
