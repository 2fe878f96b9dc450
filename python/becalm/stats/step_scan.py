"""A scan of series of sessions for steps as their values arrive (`becalm.stats.change_points` explains the method).

`Scan` holds all series of a suite in arrays: one row of sessions costs a few array operations, however many benchmarks
there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from becalm.stats.arrays import Floats, Ints
from becalm.stats.contaminated import USUAL, ValueNoise, noise_of
from becalm.stats.exceedance import Residuals, line_of_chance, share_beyond
from becalm.stats.moderation import winsorised_variance
from becalm.stats.step_evidence import ANY_DRIFT, Drift, drift_likelihood, log_evidence
from becalm.stats.step_places import bound_around, place_of_step

LOOKS = (3, 4, 6, 10, 20)
"""The numbers of sessions after a step with which it is tested."""

SHARES = (0.35, 0.2, 0.15, 0.15, 0.15)
"""The weights with which the evidence of these looks is averaged."""

REACHES = (3, 5, 8, 12, 20, 30)
"""The numbers of sessions before a step with which it is compared: the largest one that the present level has."""

YOUNGEST = 9
"""The fewest values for which a scale is known."""

REMEMBERED = 240
"""The most values from which scales and shares are computed."""

RECENT = 12
"""The number of values whose median is the present level."""

NEIGHBOURS = 2
"""The number of values on both sides by which a value is bounded."""

WIDE = 6
"""The number of values on both sides whose median is the usual value at a place; at most half of them may stray."""

BOUND = 3.0
"""The distance from the median of its neighbours, in standard deviations, to which a value is limited."""

STRAY = 8.0
"""The distance from its neighbours, in standard deviations, beyond which a value is reported as stray."""

CONSISTENT = 1 / 3
"""The part of a step beyond which at least four of five values after it lie."""

STRICT = 8.0
"""The factor by which evidence without a step is rarer than Markov's inequality bounds it. Chosen on simulated
histories (bench/history.py)."""

CONTRAST = 2.0
"""The standard errors of white noise below which a step is not examined."""

FREEDOM, LEAST_FREEDOM = 24.0, 2.0
"""The degrees of freedom of a scale: values before a look fill up its own to the first, and add at least the second."""

PEERS = 50.0
"""The number of a benchmark's own values that the share of stray values of the others is worth."""

BLOCK = 40
"""The number of values after which a series learns its drift, where any drift is possible."""

OFTEN, SELDOM = 4, 15
"""The limits from which a series without a known machine moves by steps, so that none is reported: more steps than the
first number, and more than one in as many values as the second."""

EXACT = 1e-4
"""The standard deviation, of logarithms, of a series that repeats itself except for its steps: sizes, counts."""

YOUNG, SETTLED = 24, 80
"""The rows up to which scales are computed with every second row, and with every sixth; then with every twelfth."""


class SuitePeers(msgspec.Struct, frozen=True):
    """The share of values that stray and the residuals, over all benchmarks of a suite."""

    stray: float = USUAL
    residuals: Residuals = msgspec.field(default_factory=Residuals)


class SeriesStep(msgspec.Struct, frozen=True):
    """A step in a series: position of the first value after it, and the probability of as much evidence by chance."""

    series: int
    place: int
    chance: float


def due(row: int) -> bool:
    """Return whether scales are computed anew with a row."""
    return row % (2 if row <= YOUNG else 6 if row <= SETTLED else 12) == 0


class Scan:
    """The values of some series so far.

    Values have the shape (series, room), of which the first `counts` are used:

    - `values`, `bounded`, `errors`, `commits`, `rows`
    - `distances`, `apart`: from the median of the 5 and of the 13 values around
    - `machine`: the machine's movement, which was subtracted as far as a series answers to it

    Each series has:

    - `first`: the position at which its present level begins
    - `steps`: the number of its steps
    - `core`, `stray`: its noise; `white`: the standard deviation of white noise
    - `learned`: the log likelihood of its drift
    - `unsure`: the standard error of its answer to the machine
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
        offsets = np.arange(-count, 0)
        places = self.counts[:, None] + offsets
        newest = np.take_along_axis(self.values, np.maximum(places, 0), axis=1)
        newest[places < self.first[:, None]] = math.nan
        return nan_median(newest)

    def values_needed(self) -> Ints:
        """Return the number of values that each series needs until a step can be detected, shape (series,)."""
        level_needs = REACHES[0] + LOOKS[0] - (self.counts - self.first)
        needs: Ints = np.maximum(0, np.maximum(level_needs, YOUNGEST - self.counts))
        return needs

    def take(self, row: int, commit: float, values: Floats, errors: Floats, stray: float, machine: float = 0.0) -> None:
        """Append one row, shape (series,), NaN for missing values. `stray`: share of stray values in others."""
        measured = np.flatnonzero(~np.isnan(values))
        positions = self.counts[measured]
        if len(positions) and int(positions.max()) >= self.values.shape[1]:
            self._grow()
        for table, entry in (
            (self.values, values[measured]),
            (self.bounded, values[measured]),
            (self.errors, errors[measured]),
            (self.commits, commit),
            (self.machine, machine),
            (self.doubt, self.unsure[measured]),
            (self.rows, row),
        ):
            table[measured, positions] = entry
        self.counts[measured] += 1
        self._bound_newest(measured)
        if self.drift == ANY_DRIFT:
            self._learn(measured)
        if due(row):
            self._scale(measured[self.counts[measured] >= YOUNGEST], stray)

    def look(self, peers: SuitePeers, error: float) -> list[SeriesStep]:
        """Return the steps that the newest row has made clear; a new level begins at each.

        `error`: probability with which a step is detected in a series at a row where there is none.
        """
        steps: list[SeriesStep] = []
        newest = self.rows[np.arange(len(self.counts)), np.maximum(self.counts - 1, 0)]
        measured = np.flatnonzero((self.counts > 0) & (newest == newest.max(initial=0)) & (self.core > 0))
        for series in self._with_evidence(measured, self.counts[measured], error):
            steps += self._confirm(int(series), int(self.counts[series]), peers, error)
        return [step for step in steps if not self._is_restless(step.series)]

    def _is_restless(self, series: int) -> bool:
        """Return whether a series steps so often that steps are its normal behaviour, where any drift is possible."""
        steps = int(self.steps[series])
        return self.drift == ANY_DRIFT and steps > OFTEN and int(self.counts[series]) < SELDOM * steps

    def visible(self, peers: SuitePeers, error: float) -> Floats:
        """Return the least step, shape (series,), that would be reported within ten rows if it came with the next."""
        result = np.full(len(self.counts), math.nan)
        index, after = LOOKS.index(10), 10
        before = self.counts - self.first
        settled = np.flatnonzero((before >= REACHES[0]) & (self.core > 0))
        for reach, group in by_reach(settled, before[settled]):
            old = self._window(group, self.counts[group], reach)
            level = np.median(old, axis=1)[:, None]
            # The values after the step scatter as those before it did.
            repeated = np.resize(np.arange(reach - 1, -1, -1), after)
            low, high = np.zeros(len(group)), np.full(len(group), math.log(1e4))
            for _ in range(14):
                middle = (low + high) / 2
                new = old[:, repeated] + (np.exp(middle) * self.core[group])[:, None]
                logs = self._log_evidence(group, self.counts[group] + after, np.hstack([old, new]) - level, reach)
                clear = logs + math.log(SHARES[index]) >= -math.log(STRICT * error)
                low, high = np.where(clear, low, middle), np.where(clear, middle, high)
            sizes = np.where(high < math.log(9e3), np.exp(high), math.nan)
            result[group] = sizes * self.core[group]
        for series in settled:
            noise = ValueNoise(float(self.core[series]), float(self.stray[series]))
            own = self.residuals(int(series))
            line = max(
                line_of_chance(error * SHARES[index], after, after // 5, sign, own, peers.residuals, noise)
                for sign in (-1.0, 1.0)
            )
            result[series] = np.maximum(result[series], line * noise.core)
        return result

    def residuals(self, series: int, end: int | None = None) -> Floats:
        """Return the distances of values before a position from those around, shape (n,), in standard deviations."""
        last = int(self.counts[series]) if end is None else end
        recent: Floats = self.apart[series, max(0, last - REMEMBERED) : last] / self.core[series]
        return recent[~np.isnan(recent)]

    def strays(self) -> tuple[tuple[int, int], ...]:
        """Return rows and series of values that lie far from the median of their neighbours, in order of rows."""
        with np.errstate(invalid="ignore"):
            far = np.abs(self.distances) > STRAY * self.core[:, None]
        series, places = np.nonzero(far)
        return tuple(sorted(zip(self.rows[series, places].tolist(), series.tolist(), strict=True)))

    def _grow(self) -> None:
        for name in self.TABLES:
            table = getattr(self, name)
            setattr(self, name, np.concatenate([table, np.zeros_like(table)], axis=1))

    def _window(self, series: Ints, ends: Ints, count: int) -> Floats:
        """Return the bounded values before these positions, shape (series, count)."""
        window: Floats = self.bounded[series[:, None], ends[:, None] + np.arange(-count, 0)]
        return window

    def _bound_newest(self, measured: Ints) -> None:
        """Bound the newest values by the median of the newest five of their level."""
        width = 2 * NEIGHBOURS + 1
        complete = measured[self.counts[measured] - self.first[measured] >= width]
        if not len(complete):
            return
        places = self.counts[complete][:, None] + np.arange(-width, 0)
        newest = self.values[complete[:, None], places]
        middle = np.sort(newest, axis=1)[:, NEIGHBOURS]
        bound = BOUND * np.where(self.core[complete] > 0, self.core[complete], math.inf)
        newer = slice(NEIGHBOURS, None)
        bounded = bound_around(newest[:, newer], middle[:, None], bound[:, None])
        self.bounded[complete[:, None], places[:, newer]] = bounded
        self.distances[complete, places[:, NEIGHBOURS]] = newest[:, NEIGHBOURS] - middle
        width = 2 * WIDE + 1
        complete = measured[self.counts[measured] - self.first[measured] >= width]
        if len(complete):
            newest = self.values[complete[:, None], self.counts[complete][:, None] + np.arange(-width, 0)]
            middle = np.sort(newest, axis=1)[:, WIDE]
            self.apart[complete, self.counts[complete] - WIDE - 1] = newest[:, WIDE] - middle

    def _bound_again(self, series: Ints) -> None:
        """Bound the values of the largest window by the present scale."""
        width = 2 * NEIGHBOURS + 1
        room = max(REACHES) + max(LOOKS)
        for index in series:
            begin, end = max(int(self.first[index]), int(self.counts[index]) - room), int(self.counts[index])
            if end - begin < width:
                continue
            window = self.values[index, begin:end]
            middles = np.sort(np.lib.stride_tricks.sliding_window_view(window, width), axis=1)[:, NEIGHBOURS]
            middles = np.concatenate([[middles[0]] * NEIGHBOURS, middles, [middles[-1]] * NEIGHBOURS])
            self.bounded[index, begin:end] = bound_around(window, middles, BOUND * self.core[index])

    def _scale(self, series: Ints, stray: float) -> None:
        """Compute the noise of series anew."""
        if not len(series):
            return
        width = min(REMEMBERED + 1, int(self.counts[series].max()))
        places = self.counts[series][:, None] + np.arange(-width, 0)
        recent = np.where(places >= 0, self.values[series[:, None], np.maximum(places, 0)], math.nan)
        differences = np.diff(recent, axis=1)
        self.core[series], self.stray[series] = noise_of(differences, stray, PEERS)
        for i, index in enumerate(series):
            changes = differences[i, ~np.isnan(differences[i])]
            change_count = int(np.count_nonzero(changes))
            self.white[index] = math.sqrt(winsorised_variance(changes) / 2)
            if change_count <= max(1, len(changes) // 10):
                self.core[index] = EXACT if change_count else math.nan
            elif change_count < len(changes) / 3:
                self.core[index] = math.nan
        self._bound_again(series[self.core[series] > 0])

    def _learn(self, measured: Ints) -> None:
        """Learn drift from another block of values, which no present look at a step includes."""
        ends = self.counts[measured] - max(REACHES) - max(LOOKS)
        is_complete = (ends > 0) & (ends % BLOCK == 0) & (self.core[measured] > 0)
        if is_complete.any():
            series = measured[is_complete]
            values = self._window(series, ends[is_complete], BLOCK)
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
        """Return the weighted logarithms of evidence of the values before these positions, shape (looks, series)."""
        result = np.full((len(LOOKS), len(series)), -math.inf)
        for index, after in enumerate(LOOKS):
            starts = ends - after
            before = starts - self.first[series]
            testable = np.flatnonzero(before >= REACHES[0])
            if len(testable):
                selected, first = series[testable], starts[testable]
                testable = testable[self.commits[selected, first] != self.commits[selected, first - 1]]
            for reach, group in by_reach(testable, before[testable]):
                selected = series[group]
                window = self._window(selected, ends[group], reach + after)
                window = window - window[:, :reach].mean(axis=1)[:, None]
                error = self.core[selected] * math.sqrt(1 / after + 1 / reach)
                has_contrast = np.abs(window[:, reach:].mean(axis=1)) > CONTRAST * error
                if not has_contrast.any():
                    continue
                group, selected, window = group[has_contrast], selected[has_contrast], window[has_contrast]
                extra_variances = None
                if extra:
                    places = zip(selected.tolist(), (ends[group] - after).tolist(), strict=True)
                    extra_variances = np.array([self._extra(i, place, after, reach) for i, place in places])
                logs = self._log_evidence(selected, ends[group], window, reach, extra_variances)
                result[index, group] = logs + math.log(SHARES[index])
        return result

    def _with_evidence(self, series: Ints, ends: Ints, error: float) -> Ints:
        """Return the series for which the looks together have enough evidence."""
        clear: Ints = series[np.logaddexp.reduce(self._looks(series, ends), axis=0) >= -math.log(STRICT * error)]
        return clear

    def _confirm(self, series: int, end: int, peers: SuitePeers, error: float) -> Iterator[SeriesStep]:
        """Yield the step before this position, and later steps that the values up to the newest one show after it."""
        logs = self._looks(np.array([series]), np.array([end]), extra=True)[:, 0]
        total = float(np.logaddexp.reduce(logs))
        look = int(logs.argmax())
        after = LOOKS[look]
        if total < -math.log(STRICT * error):
            return
        if not self._has_left_level(series, end - after, after, peers, error * SHARES[look]):
            return
        begin = max(int(self.first[series]), end - after - max(REACHES))
        values, commits = self.values[series, begin:end], self.commits[series, begin:end]
        place = begin + place_of_step(values, commits, float(self.core[series]), end - after - begin, after)
        self.first[series] = place
        self.steps[series] += 1
        yield SeriesStep(series, place, min(1.0, math.exp(-total) / STRICT))
        for later in range(place + REACHES[0] + LOOKS[0], int(self.counts[series]) + 1):
            if len(self._with_evidence(np.array([series]), np.array([later]), error)):
                yield from self._confirm(series, later, peers, error)
                return

    def _has_left_level(self, series: int, at: int, after: int, peers: SuitePeers, error: float) -> bool:
        """Return whether values lie where such values seldom come by chance one after the other."""
        level_values = self.values[series, max(int(self.first[series]), at - RECENT) : at]
        newest = self.values[series, at : at + after]
        level, missing = float(np.median(level_values)), after // 5
        size = float(np.median(newest)) - level
        sign = math.copysign(1.0, size)
        line = float(np.sort(sign * (newest - level))[missing])
        if line <= abs(size) * CONSISTENT:
            return False
        noise = ValueNoise(float(self.core[series]), float(self.stray[series]))
        share = share_beyond(line / noise.core, sign, self.residuals(series, at), peers.residuals, noise)
        return share.in_a_row(after, missing) <= error

    def _extra(self, series: int, at: int, after: int, before: int) -> float:
        """Return the variance of a step apart from noise and drift.

        It allows for sessions with larger errors than those before them, and for a move of the machine, since the
        answer to it is not exact.
        """
        errors = np.square(self.errors[series, at - before : at + after])
        error_variance = max(0.0, float(errors[before:].mean() - errors[:before].mean())) / after
        # The error at the time of the move counts: that the answer is known better since then does not change the past.
        unsure = float(self.doubt[series, at - before : at + after].max())
        move = float(self.machine[series, at : at + after].mean() - self.machine[series, at - before : at].mean())
        return error_variance + unsure**2 * move**2


def by_reach(series: Ints, before: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each reach with the series that have as many values before a place."""
    places = np.searchsorted(REACHES, before, side="right") - 1
    for place in np.unique(places):
        if place >= 0:
            yield REACHES[place], series[places == place]


def nan_median(values: Floats) -> Floats:
    """Return the median of each row without NaN, shape (rows,); NaN where there is nothing else."""
    ordered = np.sort(values, axis=1)
    count = (~np.isnan(values)).sum(axis=1)
    rows = np.arange(len(values))
    low, high = np.maximum(count - 1, 0) // 2, np.minimum(count // 2, values.shape[1] - 1)
    result: Floats = (ordered[rows, low] + ordered[rows, high]) / 2
    result[count == 0] = math.nan
    return result


def suite_peers(scan: Scan, series: Sequence[int]) -> SuitePeers:
    """Return the share of stray values and the residuals over these series."""
    settled = [index for index in series if scan.core[index] > 0 and scan.white[index] > 0]
    if not settled:
        return SuitePeers()
    return SuitePeers(float(scan.stray[settled].mean()), Residuals.of([scan.residuals(index) for index in settled]))
