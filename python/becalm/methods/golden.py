"""Golden section along one line through the space (`becalm.methods.paths`): two probes in a bracket, and the part of it
beyond the worse one goes (Kiefer 1953, Proc. Am. Math. Soc. 4:502). Anderson 2013, chapter 5, finds its best in 8 runs.

What is ours, because times are noisy: both probes and the default are run in one block, again until the probes differ
or the block was repeated so often that what they differ by does not matter; where no place of a bracket differs from
any other, the search ends, since the rest would follow noise. A probe that fails is worse than any other.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from becalm.methods.blocks import Blocks
from becalm.methods.paths import Path, resolve
from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, Sample, SearchGenerator, TimeOver, TrialDesign
from becalm.methods.surface_end import too_short
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings

SECTION = (math.sqrt(5) - 1) / 2
"""0.618: of each bracket the part that is kept."""

PROBES = 8
"""Places that are tried, at most."""

REPEATS = 4
"""Blocks of one pair of probes, at most."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """A part of the line and the two probes within it."""

    low: float
    left: float
    right: float
    high: float

    @classmethod
    def of(cls, low: float, high: float) -> Bracket:
        """Return the bracket with both probes new."""
        return cls(low, high - SECTION * (high - low), low + SECTION * (high - low), high)

    def narrowed(self, lower: bool) -> Bracket:
        """Return the part around the lower probe, or around the higher one, which stays; the other probe is new."""
        if lower:
            return Bracket(self.low, self.right - SECTION * (self.right - self.low), self.left, self.right)
        return Bracket(self.left, self.right, self.left + SECTION * (self.high - self.left), self.high)


def golden(
    space: Space, rule: TrialDesign, rng: np.random.Generator, *, path: str = "", probes: int = PROBES
) -> SearchGenerator:
    """Search by golden section; see the module. Takes nothing from `rng`: its course follows from what was measured."""
    del rng
    if not space.factors:
        return Choice(NO_SETTINGS, "There is nothing to vary.")
    here = _Golden(space, rule, resolve(path, space), probes)
    if here.blocks.room() < 2:
        return Choice(NO_SETTINGS, too_short(rule.most_runs))
    try:
        end = yield from here.narrow(Bracket.of(-1.0, 1.0))
    except TimeOver:
        end = "the time for the search was over"
    return here.choice(end)


class _Golden:
    """A search along a path: its probes, and their results."""

    def __init__(self, space: Space, rule: TrialDesign, path: Path, probes: int) -> None:
        self.blocks = Blocks(rule, None)
        self.path = path
        self._space = space
        self._most = probes
        self._probes: dict[Settings, float] = {}

    def narrow(self, bracket: Bracket) -> Generator[Ask, Sequence[Sample], str]:
        """Narrow the bracket as long as that is useful; return why it ended, as the end of a sentence."""
        while True:
            pair = self.at(bracket.left), self.at(bracket.right)
            if pair[0] == pair[1]:
                return "there is nothing between the last two of them"
            if len(self._probes | dict.fromkeys(pair)) > self._most:
                return f"that is the limit of {self._most} places"
            for settings, place in zip(pair, (bracket.left, bracket.right), strict=True):
                self._probes.setdefault(settings, place)
            told = yield from self.compare(pair)
            if self.blocks.lost:
                return "the program failed on the machine as it is"
            if told is None:
                return f"the limit of {self.blocks.rule.most_runs} runs was reached"
            if self.level_within(bracket):
                return "the last of them do not differ by more than the noise"
            bracket = bracket.narrowed(told)

    def at(self, place: float) -> Settings:
        """Return the settings at a place of the line."""
        return self.path.settings(self._space, place)

    def compare(self, pair: tuple[Settings, Settings]) -> Generator[Ask, Sequence[Sample], bool | None]:
        """Compare two probes in as many blocks as needed; return whether the first is faster, or None without any
        run."""
        times, why = self.blocks.times, " against ".join(self.path.worded(self._probes[settings]) for settings in pair)
        for number in range(REPEATS):
            if self.blocks.room() < 2 or self.blocks.lost or any(times.failed(settings) for settings in pair):
                break
            if number and self.differ(*pair):
                break
            again = f", again ({number + 1} of at most {REPEATS})" if number else ""
            yield from self.blocks.ask(pair, f"{why}{again}", self.best())
        failed = [times.failed(settings) for settings in pair]
        if any(failed):
            # Where both fail, what lies between them and the lower end is left.
            return failed[1]
        if not all(settings in times.good for settings in pair):
            return None
        return times.difference(*pair)[0] < 0

    def differ(self, settings: Settings, other: Settings) -> bool:
        """Return whether two probes differ by more than the noise."""
        return self.blocks.times.differs(settings, other, 0.95)

    def level_within(self, bracket: Bracket) -> bool:
        """Return whether three places or more of a bracket were tried and no two of them differ."""
        times = self.blocks.times
        tried = [
            each for each, place in self._probes.items() if bracket.low <= place <= bracket.high and each in times.good
        ]
        if len(tried) < 3:
            return False
        low, high = min(tried, key=times.level), max(tried, key=times.level)
        return not self.differ(low, high)

    def best(self) -> Settings:
        """Return the present choice."""
        times = self.blocks.times
        return (
            NO_SETTINGS if self.blocks.lost else times.faster([probe for probe in self._probes if probe in times.good])
        )

    def choice(self, end: str) -> Choice:
        """Return the end: the best probe, or no settings when none is faster than the default."""
        chosen = self.best()
        tried = sum(self.blocks.times.trials(probe) > 0 for probe in self._probes)
        found = (
            "found nothing on its line that is faster than the default"
            if chosen == NO_SETTINGS
            else f"chose {self.path.worded(self._probes[chosen])}"
        )
        return Choice(chosen, f"Golden section {found} after {tried} places and {self.blocks.spent()}: {end}.")
