"""One series of sittings, looked at for steps as its values come in (`becalm.stats.change_points` says how and why)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtr, stdtrit

from becalm.stats.moderation import Prior, moderate, winsorised_variance

LOOKS = ((3, 12), (4, 12), (6, 16), (10, 20))
"""Sittings after and at most before a step, of each look at it."""

SHARES = (0.5, 0.2, 0.15, 0.15)
"""What each look may spend of a step's error."""

BEFORE = 6
"""Values of one level that are needed before a step can be seen."""

REMEMBERED = 80
"""Differences and past steps from which scales are computed."""

LEAST = 12
"""Past differences and steps of a series without which its scale is not known."""

FREEDOM = 4.0
"""Degrees of freedom of a factor below which no step is judged by it."""

STRAY = 2.0
"""A value after a step that lies so many standard deviations from their median makes a mean that is not believed."""

WINSOR = 2.5
"""Values before a step count at most so many standard deviations from their median."""

EVERY = 4
"""Scales are computed anew with every fourth value."""

NEAR = 2
"""Values by which a step may lie earlier or later than where it was seen."""

BACK = (24, 32, 44, 60)
"""Values with which a series that has shown no step yet is looked back at: by then a scale is known that the step is no
part of. What these looks may spend is what was left unspent while no scale was known, in equal parts."""


@dataclass(frozen=True, slots=True)
class _Step:
    """The newest values against those before: position of the first after it, how many before, their level, size."""

    at: int
    before: int
    level: float
    size: float

    def scaled(self, after: int) -> float:
        """Its size with the variance that a value has, of white noise."""
        return self.size / math.sqrt(1 / after + 1 / self.before)


@dataclass(slots=True)
class Scan:
    """The values of one series so far. `first`: position at which its present level begins; `factors`: how much more
    past steps of each look varied than white noise lets them, and with how many degrees of freedom."""

    rows: list[int] = field(default_factory=list)
    commits: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    first: int = 0
    white: float = math.nan
    factors: list[tuple[float, float]] = field(default_factory=lambda: [(1.0, 0.0)] * len(LOOKS))
    _steps: list[list[tuple[int, float]]] = field(default_factory=lambda: [[] for _ in LOOKS])
    _now: list[_Step | None] = field(default_factory=lambda: [None] * len(LOOKS))

    def level(self, count: int = 12) -> float:
        """Median of the newest values of the present level; NaN where there are none."""
        newest = self.values[max(self.first, len(self.values) - count) :]
        return _median(newest) if newest else math.nan

    @property
    def lacking(self) -> int:
        """Values that are needed until a step can be seen."""
        begun = BEFORE + LOOKS[0][0] - (len(self.values) - self.first)
        return max(0, begun, LEAST + BEFORE + LOOKS[0][0] - len(self.values) if not self.factors[0][1] else 0)

    def take(self, row: int, commit: float, value: float, error: float) -> None:
        """One more value; steps that end with it become part of what is known of the series."""
        self.rows.append(row)
        self.commits.append(commit)
        self.values.append(value)
        self.errors.append(error)
        count = len(self.values)
        for index, (after, _) in enumerate(LOOKS):
            at = count - after
            self._now[index] = None
            if at - self.first >= BEFORE:
                step = self._step(at, index, self.first)
                self._now[index] = step
                self._steps[index].append((at, step.scaled(after)))
        if count % EVERY == 0:
            self._scale()

    def look(self, priors: Sequence[Prior], error: float) -> tuple[int, float] | None:
        """Where a step lies that the newest value has made clear, and its p-value; then a new level begins there.

        `error`: probability with which one is seen at a commit where there is none.
        """
        if not self.white > 0:
            return None
        for index, step in enumerate(self._now):
            # Far from any threshold, at which nothing else is computed; no step lies within a commit.
            if step is None or abs(step.size) < self.white or self.commits[step.at] == self.commits[step.at - 1]:
                continue
            scale, freedom = self._scale_of(step, LOOKS[index][0], self.factors[index], priors[index])
            if freedom < FREEDOM or abs(step.size) < 2.5 * scale or not self._agreed(step, LOOKS[index][0]):
                continue
            p = 2 * float(stdtr(freedom, -self._sure(step, LOOKS[index][0]) / scale)) / SHARES[index]
            if p <= error:
                place = self._place(step)
                self._begin(place)
                return place, p
        return None

    def look_back(self, priors: Sequence[Prior], error: float) -> tuple[int, float] | None:
        """As `look`, for steps among the first values, which were there before a scale was known.

        A step that is a tenth of all that is known makes past steps vary much: as drift does. So each place is judged
        by the steps that end before it or begin after it. `error` as in `look`.
        """
        count = len(self.values)
        if self.first or count not in BACK or not self.white > 0:
            return None
        places = [at for at in range(BEFORE, count - BEFORE + 1) if self.commits[at] != self.commits[at - 1]]
        share = error * (LEAST + BEFORE + LOOKS[0][0]) / len(BACK) / max(1, len(places))
        found, least = None, share
        for at in places:
            for index, (after, _) in enumerate(LOOKS):
                if at + after > count:
                    continue
                step = self._step(at, index, 0)
                if abs(step.size) < self.white or not self._agreed(step, after):
                    continue
                beside = self._past(0, at, index) + self._past(at, count, index)
                if not beside:
                    continue
                past = winsorised_variance(np.array([each for _, each in beside]))
                factor = past / self.white**2, len(beside) / after
                scale, freedom = self._scale_of(step, after, factor, priors[index])
                if freedom < FREEDOM:
                    continue
                p = 2 * float(stdtr(freedom, -self._sure(step, after) / scale)) / SHARES[index]
                if p <= least:
                    found, least = step, p
        if found is None:
            return None
        place = self._place(found)
        self._steps = [self._past(0, place, index) + self._past(place, count, index) for index in range(len(LOOKS))]
        self.first = place
        self._scale()
        return place, least * error / share

    def visible(self, priors: Sequence[Prior], error: float) -> float:
        """The least step that a look would report if it came with the next value; NaN while none would be seen."""
        least = math.inf
        for index, (after, most) in enumerate(LOOKS):
            before = min(most, len(self.values) - self.first)
            if self.white > 0 and before >= BEFORE:
                variance, freedom = self._usual(before, after, self.factors[index], priors[index])
                if freedom >= FREEDOM:
                    t = max(2.5, -float(stdtrit(freedom, error * SHARES[index] / 2)))
                    least = min(least, max(self.white, t * math.sqrt(variance)))
        return least if math.isfinite(least) else math.nan

    def _past(self, begin: int, end: int, index: int) -> list[tuple[int, float]]:
        """Positions and sizes of steps, as `_steps` has them, of the values of one level alone."""
        after, _ = LOOKS[index]
        places = range(begin + BEFORE, end - after + 1)
        return [(at, self._step(at, index, begin).scaled(after)) for at in places]

    def _step(self, at: int, index: int, begin: int) -> _Step:
        """The values of a look from a position on against those before it, of a level that begins at `begin`."""
        after, most = LOOKS[index]
        before = min(most, at - begin)
        level = self._level(at, before)
        return _Step(at, before, level, sum(self.values[at : at + after]) / after - level)

    def _scale_of(self, step: _Step, after: int, factor: tuple[float, float], prior: Prior) -> tuple[float, float]:
        """Standard deviation of a step where there is none, and its degrees of freedom."""
        usual, freedom = self._usual(step.before, after, factor, prior)
        return math.sqrt(usual + self._worse(step.at, after, step.before)), freedom

    def _usual(self, before: int, after: int, factor: tuple[float, float], prior: Prior) -> tuple[float, float]:
        """Variance of a step where there is none, of sittings that are known as well as ever; degrees of freedom."""
        value, more = moderate(*factor, prior) if factor[1] or prior.freedom else (1.0, 0.0)
        if not more:
            return math.inf, 0.0
        count = min(REMEMBERED, len(self.values))
        # Two thirds: successive differences share a value (von Neumann's statistic has that efficiency).
        freedom = 1 / (1 / (count * 2 / 3) + 1 / more)
        return self.white**2 * (1 / after + 1 / before) * max(1.0, value), freedom

    def _worse(self, at: int, after: int, before: int) -> float:
        """Variance that sittings beside the step add, since they are known worse than those before them."""
        usual = sum(each * each for each in self.errors[at - before : at]) / before
        new = sum(each * each for each in self.errors[at : at + after]) / after
        return max(0.0, new - usual) / after

    def _level(self, at: int, before: int) -> float:
        """The level before a step: extreme values have little say."""
        values = self.values[at - before : at]
        middle = _median(values)
        if not self.white > 0:
            return middle
        low, high = middle - WINSOR * self.white, middle + WINSOR * self.white
        return sum([low if each < low else high if each > high else each for each in values]) / before

    def _agreed(self, step: _Step, after: int) -> bool:
        """Whether of five values after the step at least four lie beyond half of it."""
        newest = self.values[step.at : step.at + after]
        beyond = sorted((each - step.level) * math.copysign(1.0, step.size) for each in newest)
        return beyond[len(beyond) // 5] > abs(step.size) / 2

    def _sure(self, step: _Step, after: int) -> float:
        """How large a step counts as: with one stray value among few, no larger than by their median.

        Three small deviations and a bad sitting have the mean of a step, and are no rarer than these together.
        """
        values = self.values[step.at : step.at + after]
        middle = _median(values)
        stray = max(abs(each - middle) for each in values) > STRAY * self.white
        return min(abs(step.size), abs(middle - step.level)) if stray else abs(step.size)

    def _place(self, step: _Step) -> int:
        """Where between two commits the step is most likely: the split with the least squares, near where it showed.

        One of a young series may have shown long after it was there: it is looked for among all values of that look.
        """
        end, begin = min(len(self.values), step.at + LOOKS[-1][0]), step.at - step.before
        near = NEAR if self.first or len(self.values) > BACK[-1] else end - begin
        found, least = step.at, math.inf
        for place in range(max(begin + 2, step.at - near), min(end - 2, step.at + near) + 1):
            if self.commits[place] != self.commits[place - 1]:
                rest = _squares(self.values[begin:place]) + _squares(self.values[place:end])
                if rest < least:
                    found, least = place, rest
        return found

    def _begin(self, place: int) -> None:
        self.first = place
        for index, (after, _) in enumerate(LOOKS):
            self._steps[index] = [each for each in self._steps[index] if each[0] + after <= place]

    def _scale(self) -> None:
        values = np.array(self.values[-REMEMBERED - 1 :])
        if len(values) <= LEAST:
            return
        self.white = math.sqrt(winsorised_variance(np.diff(values)) / 2)
        for index, (after, _) in enumerate(LOOKS):
            steps = np.array([step for _, step in self._steps[index][-REMEMBERED:]])
            if len(steps) >= LEAST and self.white > 0:
                self.factors[index] = (winsorised_variance(steps) / self.white**2, len(steps) / after)

    def interval(self, at: int, begin: int, end: int, share: float = 0.95) -> tuple[float, float, float]:
        """Size of the step at a position and its interval, from the values of up to twenty on both sides of it.

        `begin`, `end`: positions at which the level before it begins and that after it ends.
        """
        most = LOOKS[-1][1]
        left = self.values[max(begin, at - most) : at]
        right = self.values[at : min(end, at + most)]
        size = sum(right) / len(right) - sum(left) / len(left)
        factor = max(1.0, self.factors[-1][0] if self.factors[-1][1] else self.factors[0][0])
        reach = self.white * math.sqrt(factor * (1 / len(left) + 1 / len(right)))
        reach *= float(stdtrit(max(2, len(left) + len(right) - 2), (1 + share) / 2))
        return size, size - reach, size + reach


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _squares(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((each - mean) ** 2 for each in values)
