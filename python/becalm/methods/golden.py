"""Golden section along one line through the space (`becalm.methods.paths`): of a bracket with two probes, the part
beyond the worse probe is dropped (Kiefer 1953, Proc. Am. Math. Soc. 4:502; Anderson 2013, chapter 5, in 8 runs).

Our additions, because times are noisy: both probes and the default run in one block, which is repeated until the probes
differ or their difference no longer matters. The search ends when no place of a bracket differs from any other, since
the rest would follow noise. A probe that fails is worse than any other.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence

import msgspec
import numpy as np

from becalm.methods.blocks import Blocks
from becalm.methods.paths import Path, resolve
from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, Sample, SearchGenerator, TimeOver, TrialDesign
from becalm.methods.surface_end import too_short
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings

SECTION = (math.sqrt(5) - 1) / 2
"""The share of each bracket that is kept, 0.618."""

PROBES = 8
"""The largest number of places that are tried."""

REPEATS = 4
"""The largest number of blocks for one pair of probes."""


class Bracket(msgspec.Struct, frozen=True):
    """A part of the line and the two probes within it, in coded units."""

    low: float
    left: float
    right: float
    high: float

    @classmethod
    def of(cls, low: float, high: float) -> Bracket:
        """Return the bracket of a part of the line, with new probes."""
        return cls(low, high - SECTION * (high - low), low + SECTION * (high - low), high)

    def narrowed(self, lower: bool) -> Bracket:
        """Return the part around the `lower` probe, or around the higher one; it stays, the other one is new."""
        if lower:
            return Bracket(self.low, self.right - SECTION * (self.right - self.low), self.left, self.right)
        return Bracket(self.left, self.right, self.left + SECTION * (self.high - self.left), self.high)


def golden(
    space: Space, rule: TrialDesign, rng: np.random.Generator, *, path: str = "", probes: int = PROBES
) -> SearchGenerator:
    """Search by golden section; see the module. `rng` is unused, as the course follows from the measurements."""
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
        """Narrow the bracket while that is useful; return the reason for its end, as the end of a sentence."""
        while True:
            pair = self.at(bracket.left), self.at(bracket.right)
            if pair[0] == pair[1]:
                return "no value lies between the last two places"
            if len(self._probes | dict.fromkeys(pair)) > self._most:
                return f"the limit of {self._most} places was reached"
            for settings, place in zip(pair, (bracket.left, bracket.right), strict=True):
                self._probes.setdefault(settings, place)
            first_is_faster = yield from self.compare(pair)
            if self.blocks.lost:
                return "the program failed on the machine as it is"
            if first_is_faster is None:
                return f"the limit of {self.blocks.rule.most_runs} runs was reached"
            if self.level_within(bracket):
                return "the last places do not differ by more than the noise"
            bracket = bracket.narrowed(first_is_faster)

    def at(self, place: float) -> Settings:
        """Return the settings at a place of the line."""
        return self.path.settings(self._space, place)

    def compare(self, pair: tuple[Settings, Settings]) -> Generator[Ask, Sequence[Sample], bool | None]:
        """Compare two probes in as many blocks as needed; return whether the first is faster, None without a run."""
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
            # If both fail, the part below the higher probe remains.
            return failed[1]
        if not all(settings in times.good for settings in pair):
            return None
        return times.difference(*pair)[0] < 0

    def differ(self, settings: Settings, other: Settings) -> bool:
        """Return whether two probes differ by more than the noise."""
        return self.blocks.times.differs(settings, other, 0.95)

    def level_within(self, bracket: Bracket) -> bool:
        """Return whether three or more places of a bracket were tried and no two of them differ."""
        times = self.blocks.times
        tried = [
            settings
            for settings, place in self._probes.items()
            if bracket.low <= place <= bracket.high and settings in times.good
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
        """Return the choice: the best probe, or no settings if none is faster than the default."""
        chosen = self.best()
        tried = sum(self.blocks.times.trials(probe) > 0 for probe in self._probes)
        outcome = (
            "found nothing faster than the default on its line"
            if chosen == NO_SETTINGS
            else f"chose {self.path.worded(self._probes[chosen])}"
        )
        return Choice(chosen, f"Golden section {outcome} after {tried} places and {self.blocks.spent()}: {end}.")
