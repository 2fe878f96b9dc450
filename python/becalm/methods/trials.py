"""Trials of a single arm, as the published methods make them, within the rule's limit of runs."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from becalm.methods.protocol import NO_SETTINGS, Ask, Sample, TrialDesign
from becalm.nouns.settings import Settings

Trying = Generator[Ask, Sequence[Sample], float | None]
"""A generator that yields one Ask and returns its spread; it returns None without an Ask if the runs are used up."""


@dataclass(slots=True)
class SearchTrials:
    """The trials of a search. `best`: the settings with the lowest spread, infinite for a failed trial."""

    rule: TrialDesign
    runs: int = 0
    count: int = 0
    best: Settings = NO_SETTINGS
    spread: float = float("inf")
    seen: dict[Settings, float] = field(default_factory=dict)

    @property
    def affordable(self) -> bool:
        """Whether the rule allows a further trial."""
        return self.rule.most_runs is None or self.runs + self.rule.cost <= self.rule.most_runs

    @property
    def reached(self) -> bool:
        """Whether the lowest spread so far is at most the threshold."""
        return self.spread <= self.rule.threshold

    def measure(self, settings: Settings, why: str) -> Trying:
        """Measure a trial of these settings."""
        if not self.affordable:
            return None
        self.runs += self.rule.cost
        self.count += 1
        rule = self.rule
        samples = yield Ask((settings,), rule.loops, rule.runs, rule.warmup_runs, why, self.best)
        spread = samples[0].value(rule.objective)
        self.seen[settings] = spread
        if spread < self.spread:
            self.best, self.spread = settings, spread
        return spread

    def end(self) -> str:
        """Return the reason for the end of the search, as the second half of a sentence."""
        if self.reached:
            return f"the threshold of {self.rule.threshold:.2%} was reached"
        if not self.affordable:
            return f"the limit of {self.rule.most_runs} runs was reached"
        return "everything was tried"
