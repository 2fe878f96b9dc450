"""Series of sessions, looked at for steps as their values come in (`becalm.stats.change_points` says how and why).

`Scan` holds all series of a suite side by side: one row of sessions costs a few operations on arrays, however many
benchmarks it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from becalm.stats.arrays import Floats, Ints
from becalm.stats.contaminated import USUAL, ValueNoise, noise_of
from becalm.stats.exceedance import Residuals, rare, share_beyond
from becalm.stats.moderation import winsorised_variance
from becalm.stats.step_evidence import ANY_DRIFT, Drift, drift_likelihood, log_evidence
from becalm.stats.step_places import bounded_to, place_of_step

LOOKS = (3, 4, 6, 10, 20)
"""Sessions after a step, of each look at it."""

SHARES = (0.35, 0.2, 0.15, 0.15, 0.15)
"""Weights with which the looks' evidence is averaged."""

REACHES = (3, 5, 8, 12, 20, 30)
"""Sessions before a step that it may be held against: the largest of these that the present level has."""

YOUNGEST = 9
"""Values from which on a scale is known."""

REMEMBERED = 240
"""Values from which scales and shares are computed."""

RECENT = 12
"""Values of which the present level is the median."""

NEIGHBOURS = 2
"""Values on both sides with which a value is bounded."""

WIDE = 6
"""Values on both sides whose median says what is usual where a value lies: more than half of them may not stray."""

BOUND = 3.0
"""Standard deviations from the median of its neighbours beyond which a value counts as one there."""

STRAY = 8.0
"""Standard deviations from its neighbours beyond which a value is reported as one that strays."""

CONSISTENT = 1 / 3
"""The part of a step beyond which at least four of five values after it lie."""

STRICT = 8.0
"""The factor by which evidence without a step is rarer than Markov's inequality bounds it. Chosen on simulated
histories (bench/history.py)."""

CONTRAST = 2.0
"""Standard errors of white noise below which no step is examined."""

FREEDOM, LEAST_FREEDOM = 24.0, 2.0
"""Degrees of freedom of a scale: what the values of a look lack to so many comes from those before them."""

PEERS = 50.0
"""The number of a benchmark's own values that the share of stray values of the others is worth."""

BLOCK = 40
"""Values from which a series learns how much it drifts, where any drift is possible."""

OFTEN, SELDOM = 4, 15
"""Where nobody knows what the machine did, a series that has shown more steps than the first, and more than one in as
many values as the second, moves by steps: none is reported while that is so."""

EXACT = 1e-4
"""Standard deviation, of logarithms, of a series that repeats itself to the digit but for its steps: sizes, counts."""

YOUNG, SETTLED = 24, 80
"""Rows up to which scales are computed with every second one, and with every sixth; after that with every twelfth."""


@dataclass(frozen=True, slots=True)
class SuitePeers:
    """The share of values that stray and the residuals, over all benchmarks of a suite."""

    stray: float = USUAL
    residuals: Residuals = field(default_factory=Residuals)


@dataclass(frozen=True, slots=True)
class SeriesStep:
    """A step in a series: position of the first value after it, and the probability of so much evidence by chance."""

    series: int
    place: int
    chance: float


def due(row: int) -> bool:
    """Return whether scales are computed anew with a row."""
    return row % (2 if row <= YOUNG else 6 if row <= SETTLED else 12) == 0


class Scan:
    """The values of some series so far.

    `values`, `bounded`, `errors`, `commits`, `rows`, `machine`, `distances`, `apart` have the shape (series, room), of
    which the first `counts` are taken. `distances`, `apart`: from the median of 5 and of 13 values around. `first`:
    position at which a series' present level begins. `steps`: how many it has shown. `core`, `stray`: its noise.
    `learned`: what it has shown of drift. `white`: standard deviation of white noise. `machine`: what the machine did,
    which was taken away as far as a series answers to it; `unsure`: standard error of how far.
    """

    def __init__(self, series: int, drift: Drift = ANY_DRIFT) -> None:
        self.drift = drift
        self.counts = np.zeros(series, np.int64)
        self.first, self.steps = np.zeros(series, np.int64), np.zeros(series, np.int64)
        self.core, self.white = np.full(series, math.nan), np.full(series, math.nan)
        self.stray, self.unsure = np.full(series, USUAL), np.zeros(series)
        self.learned = np.zeros((series, len(drift)))
        self.values, self.bounded, self.distances, self.apart = (np.full((series, 64), math.nan) for _ in range(4))
        self.errors, self.commits, self.machine, self.doubt = (np.zeros((series, 64)) for _ in range(4))
        self.rows = np.zeros((series, 64), np.int64)

    TABLES = ("values", "bounded", "distances", "apart", "errors", "commits", "machine", "doubt", "rows")

    def level(self, count: int = RECENT) -> Floats:
        """Return the median of the newest values of each present level, NaN where there are none."""
        back = np.arange(-count, 0)
        places = self.counts[:, None] + back
        newest = np.take_along_axis(self.values, np.maximum(places, 0), axis=1)
        newest[places < self.first[:, None]] = math.nan
        return nan_median(newest)

    def lacking(self) -> Ints:
        """Return how many values each series needs until a step can be seen."""
        begun = REACHES[0] + LOOKS[0] - (self.counts - self.first)
        lacks: Ints = np.maximum(0, np.maximum(begun, YOUNGEST - self.counts))
        return lacks

    def take(self, row: int, commit: float, values: Floats, errors: Floats, stray: float, machine: float = 0.0) -> None:
        """Append one row, shape (series,), NaN for what was not measured. `stray`: share of stray values in others."""
        there = np.flatnonzero(~np.isnan(values))
        at = self.counts[there]
        if len(at) and int(at.max()) >= self.values.shape[1]:
            self._grow()
        for table, entry in (
            (self.values, values[there]),
            (self.bounded, values[there]),
            (self.errors, errors[there]),
            (self.commits, commit),
            (self.machine, machine),
            (self.doubt, self.unsure[there]),
            (self.rows, row),
        ):
            table[there, at] = entry
        self.counts[there] += 1
        self._bound_newest(there)
        if self.drift == ANY_DRIFT:
            self._learn(there)
        if due(row):
            self._scale(there[self.counts[there] >= YOUNGEST], stray)

    def look(self, peers: SuitePeers, error: float) -> list[SeriesStep]:
        """Return the steps that the newest row has made clear; a new level begins at each.

        `error`: probability with which one is seen in a series at a row where there is none.
        """
        steps: list[SeriesStep] = []
        newest = self.rows[np.arange(len(self.counts)), np.maximum(self.counts - 1, 0)]
        there = np.flatnonzero((self.counts > 0) & (newest == newest.max(initial=0)) & (self.core > 0))
        for series in self._clear(there, self.counts[there], error):
            steps += self._confirmed(int(series), int(self.counts[series]), peers, error)
        return [step for step in steps if not self._restless(step.series)]

    def _restless(self, series: int) -> bool:
        """Return whether a series steps so often that steps are its way of moving, where any drift is possible."""
        steps = int(self.steps[series])
        return self.drift == ANY_DRIFT and steps > OFTEN and int(self.counts[series]) < SELDOM * steps

    def visible(self, peers: SuitePeers, error: float) -> Floats:
        """Return the least step of each series that would be reported within ten rows if it came with the next one."""
        result = np.full(len(self.counts), math.nan)
        index, after = LOOKS.index(10), 10
        before = self.counts - self.first
        known = np.flatnonzero((before >= REACHES[0]) & (self.core > 0))
        for reach, group in by_reach(known, before[known]):
            old = self._window(group, self.counts[group], reach)
            level = np.median(old, axis=1)[:, None]
            # The step's values scatter as those before it did.
            again = np.resize(np.arange(reach - 1, -1, -1), after)
            low, high = np.zeros(len(group)), np.full(len(group), math.log(1e4))
            for _ in range(14):
                middle = (low + high) / 2
                new = old[:, again] + (np.exp(middle) * self.core[group])[:, None]
                logs = self._log_evidence(group, self.counts[group] + after, np.hstack([old, new]) - level, reach)
                clear = logs + math.log(SHARES[index]) >= -math.log(STRICT * error)
                low, high = np.where(clear, low, middle), np.where(clear, middle, high)
            sizes = np.where(high < math.log(9e3), np.exp(high), math.nan)
            result[group] = sizes * self.core[group]
        for series in known:
            noise = ValueNoise(float(self.core[series]), float(self.stray[series]))
            own = self.residuals(int(series))
            line = max(
                rare(error * SHARES[index], after, after // 5, sign, own, peers.residuals, noise)
                for sign in (-1.0, 1.0)
            )
            result[series] = np.maximum(result[series], line * noise.core)
        return result

    def residuals(self, series: int, end: int | None = None) -> Floats:
        """Return distances of values before a position from the median of those around, in standard deviations."""
        last = int(self.counts[series]) if end is None else end
        part: Floats = self.apart[series, max(0, last - REMEMBERED) : last] / self.core[series]
        return part[~np.isnan(part)]

    def strays(self) -> tuple[tuple[int, int], ...]:
        """Return rows and series of values that lie far from the median of their neighbours, in order of rows."""
        with np.errstate(invalid="ignore"):
            far = np.abs(self.distances) > STRAY * self.core[:, None]
        own, places = np.nonzero(far)
        return tuple(sorted(zip(self.rows[own, places].tolist(), own.tolist(), strict=True)))

    def _grow(self) -> None:
        for name in self.TABLES:
            table = getattr(self, name)
            setattr(self, name, np.concatenate([table, np.zeros_like(table)], axis=1))

    def _window(self, series: Ints, ends: Ints, count: int) -> Floats:
        """Return the bounded values before these positions, shape (series, count)."""
        window: Floats = self.bounded[series[:, None], ends[:, None] + np.arange(-count, 0)]
        return window

    def _bound_newest(self, there: Ints) -> None:
        """Bound the newest values by the median of the newest five of their level."""
        width = 2 * NEIGHBOURS + 1
        whole = there[self.counts[there] - self.first[there] >= width]
        if not len(whole):
            return
        places = self.counts[whole][:, None] + np.arange(-width, 0)
        newest = self.values[whole[:, None], places]
        middle = np.sort(newest, axis=1)[:, NEIGHBOURS]
        bound = BOUND * np.where(self.core[whole] > 0, self.core[whole], math.inf)
        part = slice(NEIGHBOURS, None)
        self.bounded[whole[:, None], places[:, part]] = bounded_to(newest[:, part], middle[:, None], bound[:, None])
        self.distances[whole, places[:, NEIGHBOURS]] = newest[:, NEIGHBOURS] - middle
        width = 2 * WIDE + 1
        whole = there[self.counts[there] - self.first[there] >= width]
        if len(whole):
            newest = self.values[whole[:, None], self.counts[whole][:, None] + np.arange(-width, 0)]
            middle = np.sort(newest, axis=1)[:, WIDE]
            self.apart[whole, self.counts[whole] - WIDE - 1] = newest[:, WIDE] - middle

    def _bound_again(self, series: Ints) -> None:
        """Bound the values of the largest window by the present scale."""
        width = 2 * NEIGHBOURS + 1
        room = max(REACHES) + max(LOOKS)
        for each in series:
            begin, end = max(int(self.first[each]), int(self.counts[each]) - room), int(self.counts[each])
            if end - begin < width:
                continue
            part = self.values[each, begin:end]
            middles = np.sort(np.lib.stride_tricks.sliding_window_view(part, width), axis=1)[:, NEIGHBOURS]
            middles = np.concatenate([[middles[0]] * NEIGHBOURS, middles, [middles[-1]] * NEIGHBOURS])
            self.bounded[each, begin:end] = bounded_to(part, middles, BOUND * self.core[each])

    def _scale(self, series: Ints, stray: float) -> None:
        """Compute the noise of series anew."""
        if not len(series):
            return
        width = min(REMEMBERED + 1, int(self.counts[series].max()))
        places = self.counts[series][:, None] + np.arange(-width, 0)
        recent = np.where(places >= 0, self.values[series[:, None], np.maximum(places, 0)], math.nan)
        differences = np.diff(recent, axis=1)
        self.core[series], self.stray[series] = noise_of(differences, stray, PEERS)
        for i, each in enumerate(series):
            own = differences[i, ~np.isnan(differences[i])]
            changed = int(np.count_nonzero(own))
            self.white[each] = math.sqrt(winsorised_variance(own) / 2)
            if changed <= max(1, len(own) // 10):
                self.core[each] = EXACT if changed else math.nan
            elif changed < len(own) / 3:
                self.core[each] = math.nan
        self._bound_again(series[self.core[series] > 0])

    def _learn(self, there: Ints) -> None:
        """Learn of drift from another block of values, which no present look at a step has a part of."""
        ends = self.counts[there] - max(REACHES) - max(LOOKS)
        whole = (ends > 0) & (ends % BLOCK == 0) & (self.core[there] > 0)
        if whole.any():
            series = there[whole]
            values = self._window(series, ends[whole], BLOCK)
            values = values - np.median(values, axis=1)[:, None]
            freedom = np.full(len(series), LEAST_FREEDOM)
            self.learned[series] += drift_likelihood(values, self.core[series], freedom, self.drift)

    def _log_evidence(
        self, series: Ints, ends: Ints, values: Floats, before: int, extra: Floats | None = None
    ) -> Floats:
        lacks = np.maximum(LEAST_FREEDOM, FREEDOM - values.shape[1])
        freedom = np.clip((ends - values.shape[1]) * 2 / 3, LEAST_FREEDOM, lacks)
        return log_evidence(values, before, self.core[series], freedom, self.drift, extra, self.learned[series])

    def _looks(self, series: Ints, ends: Ints, extra: bool = False) -> Floats:
        """Return the weighed logarithms of evidence of the values before these positions, shape (looks, series)."""
        result = np.full((len(LOOKS), len(series)), -math.inf)
        for index, after in enumerate(LOOKS):
            at = ends - after
            before = at - self.first[series]
            able = np.flatnonzero(before >= REACHES[0])
            if len(able):
                own = series[able]
                able = able[self.commits[own, at[able]] != self.commits[own, at[able] - 1]]
            for reach, group in by_reach(able, before[able]):
                own = series[group]
                window = self._window(own, ends[group], reach + after)
                window = window - window[:, :reach].mean(axis=1)[:, None]
                clear = np.abs(window[:, reach:].mean(axis=1)) > CONTRAST * self.core[own] * math.sqrt(
                    1 / after + 1 / reach
                )
                if not clear.any():
                    continue
                group, own, window = group[clear], own[clear], window[clear]
                more = None
                if extra:
                    places = zip(own.tolist(), (ends[group] - after).tolist(), strict=True)
                    more = np.array([self._extra(i, place, after, reach) for i, place in places])
                logs = self._log_evidence(own, ends[group], window, reach, more)
                result[index, group] = logs + math.log(SHARES[index])
        return result

    def _clear(self, series: Ints, ends: Ints, error: float) -> Ints:
        """Return those of these series of which the looks together have enough evidence."""
        clear: Ints = series[np.logaddexp.reduce(self._looks(series, ends), axis=0) >= -math.log(STRICT * error)]
        return clear

    def _confirmed(self, series: int, end: int, peers: SuitePeers, error: float) -> Iterator[SeriesStep]:
        """Yield the step before this position, and those after it that the values up to the newest one show then."""
        logs = self._looks(np.array([series]), np.array([end]), extra=True)[:, 0]
        total = float(np.logaddexp.reduce(logs))
        look = int(logs.argmax())
        after = LOOKS[look]
        if total < -math.log(STRICT * error):
            return
        if not self._usual_no_more(series, end - after, after, peers, error * SHARES[look]):
            return
        begin = max(int(self.first[series]), end - after - max(REACHES))
        own, commits = self.values[series, begin:end], self.commits[series, begin:end]
        place = begin + place_of_step(own, commits, float(self.core[series]), end - after - begin, after)
        self.first[series] = place
        self.steps[series] += 1
        yield SeriesStep(series, place, min(1.0, math.exp(-total) / STRICT))
        for later in range(place + REACHES[0] + LOOKS[0], int(self.counts[series]) + 1):
            if len(self._clear(np.array([series]), np.array([later]), error)):
                yield from self._confirmed(series, later, peers, error)
                return

    def _usual_no_more(self, series: int, at: int, after: int, peers: SuitePeers, error: float) -> bool:
        """Return whether values lie where such values seldom came by chance one after the other."""
        before = self.values[series, max(int(self.first[series]), at - RECENT) : at]
        newest = self.values[series, at : at + after]
        level, missing = float(np.median(before)), after // 5
        size = float(np.median(newest)) - level
        sign = math.copysign(1.0, size)
        line = float(np.sort(sign * (newest - level))[missing])
        if line <= abs(size) * CONSISTENT:
            return False
        noise = ValueNoise(float(self.core[series]), float(self.stray[series]))
        share = share_beyond(line / noise.core, sign, self.residuals(series, at), peers.residuals, noise)
        return share.in_a_row(after, missing) <= error

    def _extra(self, series: int, at: int, after: int, before: int) -> float:
        """Return the variance of a step that is none of noise or drift.

        Sessions that are known worse than those before them, and a move of the machine, since the answer to it is not
        exact.
        """
        errors = np.square(self.errors[series, at - before : at + after])
        worse = max(0.0, float(errors[before:].mean() - errors[:before].mean())) / after
        # What was known when the machine moved: that the answer is known better since takes nothing back.
        unsure = float(self.doubt[series, at - before : at + after].max())
        moved = float(self.machine[series, at : at + after].mean() - self.machine[series, at - before : at].mean())
        return worse + unsure**2 * moved**2


def by_reach(series: Ints, before: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield the reaches and those of the series that have as many values before a place."""
    places = np.searchsorted(REACHES, before, side="right") - 1
    for place in np.unique(places):
        if place >= 0:
            yield REACHES[place], series[places == place]


def nan_median(values: Floats) -> Floats:
    """Return the median of each row without NaN; NaN where there is nothing else."""
    ordered = np.sort(values, axis=1)
    count = (~np.isnan(values)).sum(axis=1)
    rows = np.arange(len(values))
    low, high = np.maximum(count - 1, 0) // 2, np.minimum(count // 2, values.shape[1] - 1)
    result: Floats = (ordered[rows, low] + ordered[rows, high]) / 2
    result[count == 0] = math.nan
    return result


def shared(scan: Scan, series: Sequence[int]) -> SuitePeers:
    """Return what series say of each other."""
    known = [each for each in series if scan.core[each] > 0 and scan.white[each] > 0]
    if not known:
        return SuitePeers()
    return SuitePeers(float(scan.stray[known].mean()), Residuals.of([scan.residuals(each) for each in known]))
