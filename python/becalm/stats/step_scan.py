"""One series of sittings, looked at for steps as its values come in (`becalm.stats.change_points` says how and why)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import log_ndtr, stdtr, stdtrit

from becalm.stats.arrays import Floats
from becalm.stats.contaminated import Noise, noise_of
from becalm.stats.exceedance import TOGETHER, Residuals, modelled, rare, share_beyond
from becalm.stats.moderation import Prior, moderate, winsorised_variance
from becalm.stats.random_walk import step_factor

LOOKS = (3, 4, 6, 10)
"""Sittings after a step, of each look at it."""

SHARES = (0.6, 0.2, 0.1, 0.1)
"""What each look may spend of a step's error."""

REACHES = (6, 12, 30)
"""Sittings before a step that it may be held against: of each look those with which past steps varied least."""

USUAL = 1
"""Which of these, where nothing is known of past steps."""

BEFORE = 6
"""Values of one level that are needed before a step can be seen."""

REMEMBERED = 240
"""Differences and past steps from which scales are computed."""

LEAST = 12
"""Past differences and steps of a series without which its scale is not known."""

FREEDOM = 4.0
"""Degrees of freedom of a scale below which no step is judged by it."""

YOUNGEST = 10
"""Values from which on a step is judged that no drift makes: the standard deviation rests on nine differences then."""

RECENT = 12
"""Values of which the present level is the median."""

TRIMMED = 3.0
"""Values so many standard deviations from their median have no say in a level."""

BEYOND = 1 / 3
"""Of five values after a step at least four lie beyond this part of it."""

PEERS = 50.0
"""How many values of its own the share of stray values of other benchmarks is worth."""

YOUNG = 24
SETTLED = 80
EVERY = 4
"""Scales are computed anew with every value, after `YOUNG` of them with every fourth, after `SETTLED` with every
twelfth."""

EXACT = 1e-4
"""Standard deviation, of logarithms, of a series that repeats itself to the digit but for its steps: sizes, counts."""

NEAR = 2
"""Values by which a step may lie earlier or later than where it was seen."""

BACK = (24, 32, 44, 60)
"""Values with which a series that has shown no step yet is looked back at: by then a scale is known that the step is no
part of. What these looks may spend is half of what could be spent while no drift was known, in equal parts."""

Factor = tuple[float, float]
"""How much more past steps varied than white noise lets them, and with how many degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Peers:
    """What the benchmarks of a suite say of each other: factors, of each look and reach; the share of values that
    stray; residuals of all."""

    factors: Sequence[Sequence[Prior]] = ((Prior(),) * len(REACHES),) * len(LOOKS)
    stray: float = Noise().stray
    residuals: Residuals = field(default_factory=Residuals)


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
    """The values of one series so far. `first`: position at which its present level begins; `white`: standard deviation
    of white noise in it; `noise`: that told apart from stray values; `factors`: of each look and reach; `machine`: what
    the machine did, which was taken away as far as the series answers to it; `unsure`: standard error of how far."""

    rows: list[int] = field(default_factory=list)
    commits: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    machine: list[float] = field(default_factory=list)
    unsure: float = 0.0
    _unsure: list[float] = field(default_factory=list)
    _residuals: list[float] = field(default_factory=list)
    first: int = 0
    white: float = math.nan
    noise: Noise = field(default_factory=Noise)
    factors: list[list[Factor]] = field(default_factory=lambda: [[(1.0, 0.0)] * len(REACHES) for _ in LOOKS])
    _steps: list[list[list[tuple[int, float]]]] = field(default_factory=lambda: [[[] for _ in REACHES] for _ in LOOKS])
    _now: list[list[_Step]] = field(default_factory=lambda: [[] for _ in LOOKS])
    _levels: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    _means: dict[tuple[int, int], float] = field(default_factory=dict)

    def level(self, count: int = RECENT) -> float:
        """Median of the newest values of the present level; NaN where there are none."""
        newest = self.values[max(self.first, len(self.values) - count) :]
        return _median(newest) if newest else math.nan

    @property
    def lacking(self) -> int:
        """Values that are needed until a step can be seen."""
        begun = BEFORE + LOOKS[0] - (len(self.values) - self.first)
        return max(0, begun, YOUNGEST - len(self.values))

    def take(self, row: int, commit: float, value: float, error: float, stray: float, machine: float = 0.0) -> None:
        """One more value; steps that end with it become part of what is known of the series.

        `stray`: the share of stray values in other series.
        """
        known = len(self.values) - self.first >= BEFORE
        self._residuals.append(value - self.level() if known else math.nan)
        self.rows.append(row)
        self.commits.append(commit)
        self.values.append(value)
        self.errors.append(error)
        self.machine.append(machine)
        self._unsure.append(self.unsure)
        count = len(self.values)
        self._levels.pop(count - LOOKS[-1] - 1, None)
        for index, after in enumerate(LOOKS):
            at = count - after
            self._now[index] = []
            if at - self.first >= BEFORE:
                self._now[index] = self._stepped(at, index, self.first)
                for reach, step in enumerate(self._now[index]):
                    self._steps[index][reach].append((at, step.scaled(after)))
        if count <= YOUNG or count % (EVERY if count <= SETTLED else 3 * EVERY) == 0:
            self._scale(stray)

    def look(self, peers: Peers, error: float) -> tuple[int, float] | None:
        """Where a step lies that the newest value has made clear, and its p-value; then a new level begins there.

        `error`: probability with which one is seen at a commit where there is none.
        """
        if not self.noise.core > 0:
            return None
        for index, steps in enumerate(self._now):
            # Far from any threshold, at which nothing else is computed; no step lies within a commit.
            if not steps or abs(steps[USUAL].size) < self.noise.core:
                continue
            at = steps[0].at
            if self.commits[at] == self.commits[at - 1]:
                continue
            step, factor, freedom = self._best(steps, LOOKS[index], self.factors[index], peers.factors[index])
            p = self._chance(step, index, factor, freedom, peers) if freedom >= FREEDOM else 1.0
            if p > error:
                step, p = steps[0], 2 * self._drifted(steps[0], index, peers)
            if p <= error:
                place = self._place(step)
                self._begin(place)
                return place, p
        return None

    def look_back(self, peers: Peers, error: float) -> tuple[int, float] | None:
        """As `look`, for steps among the first values, which were there before a scale was known.

        A step that is a tenth of all that is known makes past steps vary much: as drift does. So each place is judged
        by the steps that end before it or begin after it. `error` as in `look`.
        """
        count = len(self.values)
        if self.first or count not in BACK or not self.noise.core > 0:
            return None
        places = [at for at in range(BEFORE, count - BEFORE + 1) if self.commits[at] != self.commits[at - 1]]
        share = error / 2 * (LEAST + BEFORE + LOOKS[0]) / len(BACK) / max(1, len(places))
        found, least = None, share
        for at in places:
            for index, after in enumerate(LOOKS):
                if at + after > count:
                    continue
                step = self._stepped(at, index, 0)[USUAL]
                if abs(step.size) < self.noise.core:
                    continue
                beside = [*self._sizes(0, at, index), *self._sizes(at, count, index)]
                if not beside:
                    continue
                past = winsorised_variance(np.array(beside))
                factor, freedom = self._usual(
                    (past / self.noise.core**2, len(beside) / after), peers.factors[index][USUAL]
                )
                if freedom >= FREEDOM and (p := self._chance(step, index, factor, freedom, peers)) <= least:
                    found, least = step, p
        if found is None:
            return None
        place = self._place(found)
        for index in range(len(LOOKS)):
            left, right = self._past(0, place, index), self._past(place, count, index)
            self._steps[index] = [one + other for one, other in zip(left, right, strict=True)]
        self._moved_to(place)
        self._scale(self.noise.stray)
        return place, least * error / share

    def visible(self, peers: Peers, error: float) -> float:
        """The least step that a look would report if it came with the next value; NaN while none would be seen."""
        before, least = len(self.values) - self.first, math.inf
        if before < BEFORE or not self.noise.core > 0:
            return math.nan
        own = self.residuals()
        for index, after in enumerate(LOOKS):
            chance = error * SHARES[index] / 2
            scales = [
                (*self._usual(self.factors[index][reach], peers.factors[index][reach]), min(before, most), chance)
                for reach, most in enumerate(REACHES)
            ]
            scales.append(
                (step_factor(after, min(before, REACHES[0])), self._freedom, min(before, REACHES[0]), chance / 2)
            )
            sizes = [
                -float(stdtrit(freedom, p)) * math.sqrt(factor * (1 / after + 1 / count))
                for factor, freedom, count, p in scales
                if freedom >= FREEDOM
            ]
            line = max(
                rare(chance * TOGETHER, after, after // 5, sign, own, peers.residuals, self.noise)
                for sign in (-1.0, 1.0)
            )
            least = min([least, *(max(1.0, each, line) for each in sizes)])
        return self.noise.core * least if math.isfinite(least) else math.nan

    def _sizes(self, begin: int, end: int, index: int) -> Iterator[float]:
        """Yield the sizes of steps with the usual reach, as `_past` has them."""
        after = LOOKS[index]
        for at in range(begin + BEFORE, end - after + 1):
            self._levels[at] = self._levels_before(at, begin)
            before, level = self._levels[at][USUAL]
            yield (self._level(at, at + after) - level) / math.sqrt(1 / after + 1 / before)

    def _past(self, begin: int, end: int, index: int) -> list[list[tuple[int, float]]]:
        """Positions and sizes of steps, as `_steps` has them, of the values of one level alone."""
        after = LOOKS[index]
        found: list[list[tuple[int, float]]] = [[] for _ in REACHES]
        for at in range(begin + BEFORE, end - after + 1):
            self._levels.pop(at, None)
            for reach, step in enumerate(self._stepped(at, index, begin)):
                found[reach].append((at, step.scaled(after)))
        return found

    def _stepped(self, at: int, index: int, begin: int) -> list[_Step]:
        """The values of a look from a position on against those before it, of a level that begins at `begin`: of each
        reach."""
        middle = self._level(at, at + LOOKS[index])
        if at not in self._levels or begin != self.first:
            self._levels[at] = self._levels_before(at, begin)
        return [_Step(at, count, level, middle - level) for count, level in self._levels[at]]

    def _levels_before(self, at: int, begin: int) -> list[tuple[int, float]]:
        """Return the number of values and the level before a position, of each reach."""
        counts = [min(most, at - begin) for most in REACHES]
        return [(count, self._level(at - count, at)) for count in counts]

    def _best(
        self, steps: Sequence[_Step], after: int, factors: Sequence[Factor], priors: Sequence[Prior]
    ) -> tuple[_Step, float, float]:
        """The step with the reach by which past ones varied least, its factor, and degrees of freedom."""
        usual = [self._usual(factor, prior) for factor, prior in zip(factors, priors, strict=True)]
        variance = [
            factor * (1 / after + 1 / step.before) if freedom >= FREEDOM else math.inf
            for (factor, freedom), step in zip(usual, steps, strict=True)
        ]
        best = min(range(len(steps)), key=variance.__getitem__)
        return (steps[best], *usual[best])

    def _usual(self, own: Factor, prior: Prior) -> tuple[float, float]:
        """How much more steps vary than white noise lets them, and degrees of freedom of a step's scale."""
        value, more = moderate(*own, prior) if own[1] or prior.freedom else (1.0, 0.0)
        if not more:
            return 1.0, 0.0
        return max(1.0, value), 1 / (1 / self._freedom + 1 / more)

    @property
    def _freedom(self) -> float:
        """Degrees of freedom of the standard deviation."""
        # Two thirds: successive differences share a value (von Neumann's statistic has that efficiency).
        return (min(REMEMBERED + 1, len(self.values)) - 1) * 2 / 3

    def residuals(self, end: int | None = None) -> Floats:
        """Distances of values before this position from the level before each, in standard deviations."""
        found: Floats = np.array(self._residuals[:end][-REMEMBERED:]) / self.noise.core
        return found[~np.isnan(found)]

    def _drifted(self, step: _Step, index: int, peers: Peers) -> float:
        """As `_chance`, as if the series drifted as much as its differences allow: nothing need be known of that."""
        freedom, noise, factor = self._freedom, self.noise, step_factor(LOOKS[index], step.before)
        if step.scaled(LOOKS[index]) ** 2 < 2 * factor * noise.core**2:
            return 1.0
        if len(self.values) <= SETTLED:
            # Of a few differences the step itself is one, which must not make it seem usual.
            beside = np.delete(np.diff(self.values), step.at - 1)
            freedom, noise = len(beside) * 2 / 3, self.noise
            if self.white > 0:
                noise = noise_of(beside, self.noise, peers.stray, PEERS)
            if not noise.core > 0:
                return 1.0
        return self._chance(step, index, factor, freedom, peers, noise) if freedom >= FREEDOM else 1.0

    def _chance(
        self, step: _Step, index: int, factor: float, freedom: float, peers: Peers, noise: Noise | None = None
    ) -> float:
        """p-value of a step, of all looks; 1 for one that is none.

        It must be large for what is known of the scale (Student's t), likely beside stray values (normal), and its
        values must lie where such values seldom came by chance one after the other.
        """
        after, noise = LOOKS[index], noise or self.noise
        white = noise.core**2 * (1 / after + 1 / step.before)
        spread = (factor - 1) * white + self._worse(step.at, after, step.before)
        if step.size**2 < 9 * (white + spread):
            return 1.0
        spread += self._moved(step.at, after, step.before)
        before, newest = self.values[step.at - step.before : step.at], self.values[step.at : step.at + after]
        old, new, root = noise.evidence(before, newest, spread)
        size, missing = new - old, after // 5
        sign = math.copysign(1.0, size)
        if sorted(sign * (each - old) for each in newest)[missing] <= abs(size) * BEYOND:
            return 1.0
        # Against the level that past distances are from.
        level = _median(self.values[max(self.first, step.at - RECENT) : step.at])
        line = max(0.0, sorted(sign * (each - level) for each in newest)[missing] / noise.core)
        own = self.residuals(step.at) * (self.noise.core / noise.core)
        share = share_beyond(line, sign, own, peers.residuals, noise)
        # Where more values lie there than the model lets, as many more of such rows are by chance.
        more = (after - missing) * max(0.0, math.log(share.value / modelled(line, noise)))
        chance = math.exp(min(0.0, float(log_ndtr(-root)) + more))
        p = max(float(stdtr(freedom, -abs(size) / math.sqrt(white + spread))), chance)
        p = max(p, share.in_a_row(after, missing) / TOGETHER)
        return min(1.0, 2 * p / SHARES[index])

    def _worse(self, at: int, after: int, before: int) -> float:
        """Variance that sittings beside the step add, since they are known worse than those before them."""
        usual = sum(each * each for each in self.errors[at - before : at]) / before
        new = sum(each * each for each in self.errors[at : at + after]) / after
        return max(0.0, new - usual) / after

    def _moved(self, at: int, after: int, before: int) -> float:
        """Variance that a move of the machine adds which is larger than usual, since the answer to it is not exact."""
        # What was known when the machine moved: that the answer is known better since takes nothing back.
        unsure = max(self._unsure[at - before : at + after])
        if not unsure:
            return 0.0
        total = np.concatenate(([0.0], np.cumsum(self.machine[max(0, at + after - REMEMBERED) : at + after])))
        left = (total[before:-after] - total[: -after - before]) / before
        right = (total[before + after :] - total[before:-after]) / after
        moves = np.square(right - left)
        usual = float(np.median(moves)) if len(moves) >= LEAST else 0.0
        return unsure**2 * max(0.0, float(moves[-1]) - usual)

    def _level(self, begin: int, end: int) -> float:
        """Return the mean of values but for those that stray."""
        # Looking back asks for the same levels again and again.
        if (begin, end) not in self._means:
            self._means[begin, end] = self._mean(begin, end)
        return self._means[begin, end]

    def _mean(self, begin: int, end: int) -> float:
        values = self.values[begin:end]
        ordered = sorted(values)
        middle = _middle(ordered)
        if not self.noise.core > 0:
            return middle
        reach = TRIMMED * self.noise.core
        low, high = middle - reach, middle + reach
        if low <= ordered[0] and ordered[-1] <= high:
            return sum(values) / len(values)
        usual = [each for each in values if low <= each <= high] or [middle]
        return sum(usual) / len(usual)

    def _place(self, step: _Step) -> int:
        """Where between two commits the step is most likely: the split with the least squares, near where it showed.

        One of a young series may have shown long after it was there: it is looked for among all values of that look.
        """
        end, begin = min(len(self.values), step.at + LOOKS[-1]), step.at - step.before
        near = NEAR if self.first or len(self.values) > BACK[-1] else end - begin
        found, least = step.at, math.inf
        for place in range(max(begin + 2, step.at - near), min(end - 2, step.at + near) + 1):
            if self.commits[place] != self.commits[place - 1]:
                rest = _squares(self.values[begin:place]) + _squares(self.values[place:end])
                if rest < least:
                    found, least = place, rest
        return found

    def _moved_to(self, place: int) -> None:
        """Another level begins there: distances from the one before it are none of noise."""
        self.first = place
        self._levels.clear()
        self._residuals[place:] = [math.nan] * (len(self.values) - place)

    def _begin(self, place: int) -> None:
        self._moved_to(place)
        for index, after in enumerate(LOOKS):
            for reach in range(len(REACHES)):
                self._steps[index][reach] = [each for each in self._steps[index][reach] if each[0] + after <= place]

    def _scale(self, stray: float) -> None:
        self._means.clear()
        values = np.array(self.values[-REMEMBERED - 1 :])
        if len(values) < YOUNGEST:
            return
        differences = np.diff(values)
        self.white = math.sqrt(winsorised_variance(differences) / 2)
        if not self.white > 0:
            self.noise = _exact(differences, self.noise)
            return
        self.noise = noise_of(differences, self.noise, stray, PEERS)
        for index, after in enumerate(LOOKS):
            for reach in range(len(REACHES)):
                steps = np.array([step for _, step in self._steps[index][reach][-REMEMBERED:]])
                if len(steps) >= LEAST and self.noise.core > 0:
                    value = winsorised_variance(steps) / self.noise.core**2
                    self.factors[index][reach] = (value, len(steps) / after)

    def interval(self, at: int, begin: int, end: int, share: float = 0.95) -> tuple[float, float, float]:
        """Size of the step at a position and its interval, from the values of up to twenty on both sides of it.

        `begin`, `end`: positions at which the level before it begins and that after it ends.
        """
        most = 20
        left = self.values[max(begin, at - most) : at]
        right = self.values[at : min(end, at + most)]
        size = sum(right) / len(right) - sum(left) / len(left)
        known = self.factors[-1][USUAL] if self.factors[-1][USUAL][1] else self.factors[0][USUAL]
        reach = self.white * math.sqrt(max(1.0, known[0]) * (1 / len(left) + 1 / len(right)))
        reach *= float(stdtrit(max(2, len(left) + len(right) - 2), (1 + share) / 2))
        return size, size - reach, size + reach


def _exact(differences: Floats, last: Noise) -> Noise:
    """Noise of a series of which most differences are 0: of steps alone where there are few; else unknown."""
    few = np.count_nonzero(differences) <= max(1, len(differences) // 10)
    return Noise(EXACT, last.stray) if few else Noise()


def _median(values: Sequence[float]) -> float:
    return _middle(sorted(values))


def _middle(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _squares(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((each - mean) ** 2 for each in values)
