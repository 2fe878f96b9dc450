"""The causes of outliers of regions: load of the machine that was higher while they occurred.

`ticks` gives the ticks of a study's loads, or of its series where there are some. `causes` tests, for each name with
outliers and each column, whether the column is higher in ticks with more outliers than usual. Both come in bursts, so
the probability is taken from the same outliers shifted against the same load by every other distance in time (a
rotation test: it depends only on the order of both, not on their distribution), and is corrected for all columns and
names (false discovery rate, Benjamini & Hochberg 1995). A cause here is a coincidence that chance does not explain.

Public: Ticks, ticks, causes, RATE.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from becalm.analysis.regions_lengths import Lengths, timed
from becalm.files import region_codec as codec
from becalm.load.record import Load, Series
from becalm.nouns.finding import Finding
from becalm.results.regions import RegionReport
from becalm.stats.arrays import Floats, Ints
from becalm.stats.multiplicity import benjamini_hochberg
from becalm.stats.normal_scores import midranks
from becalm.wording.findings import finding
from becalm.wording.regions import CAUSES

RATE = 0.05
"""The share of wrong causes among those that are named."""

LEAST = 40
"""The fewest ticks with regions of a name that can show a cause at RATE."""

_STATES = ("queue", "throttled")


class Ticks(msgspec.Struct, frozen=True):
    """The intervals of a record of load in order of time.

    `begin`, `end`: Unix ns, shape (ticks,); `rates`: by column, per second or as a state, shape (ticks,); NaN where
    unknown.
    """

    begin: Ints
    end: Ints
    rates: Mapping[str, Floats]

    def of(self, times: Ints) -> Ints:
        """Return the index of the tick that contains each time, shape (n,), or -1."""
        if not len(self.begin):
            return np.full(len(times), -1)
        place = np.searchsorted(self.begin, times, side="right") - 1
        inside = (place >= 0) & (times < self.end[np.maximum(place, 0)])
        return np.where(inside, place, -1)


def ticks(loads: Sequence[Load], series: Sequence[Series], started: Mapping[int, int]) -> Ticks:
    """Return the ticks of the finest record; `started` has the start of each run, by number, in Unix ns."""
    rows = list(_of_series(series, started)) or [
        (load.started_ns, load.started_ns + load.interval_ns, {name: getattr(load, name) for name in CAUSES})
        for load in loads
    ]
    rows = sorted((row for row in rows if row[1] > row[0]), key=lambda row: row[0])
    begin, end = (np.array([row[index] for row in rows], dtype=np.int64) for index in (0, 1))
    seconds = np.maximum(end - begin, 1) / 1e9
    rates = {}
    for name in CAUSES:
        values = np.array([np.nan if (value := row[2].get(name)) is None else value for row in rows], dtype=float)
        rates[name] = values if name in _STATES else values / seconds
    return Ticks(begin, end, rates)


def _of_series(
    all_series: Sequence[Series], started: Mapping[int, int]
) -> Iterator[tuple[int, int, dict[str, float | None]]]:
    for series in all_series:
        since = started.get(series.first)
        if since is None:
            continue
        for before, row in zip(series.rows, series.rows[1:], strict=False):
            values = dict(zip(series.names, row[1:], strict=True))
            yield since + int(before[0] or 0), since + int(row[0] or 0), values


def causes(report: RegionReport, lengths: Lengths, ticks: Ticks, study: int) -> Iterator[Finding]:
    """Yield findings on the causes of the outliers of each name; a finding gives the reason where there can be none."""
    limits = {region.name: region.outlier_from_ns for region in report.regions if region.outliers}
    tests: list[tuple[str, str, float, int, int]] = []
    short_counts: list[int] = []
    overlaps = False
    for name, records in lengths.by_name():
        if name not in limits:
            continue
        excess, count, outliers = _count_by_tick(records, limits[name], lengths, ticks)
        overlaps |= count > 0
        if count < LEAST or not outliers:
            short_counts.append(count)
            continue
        known = np.flatnonzero(~np.isnan(excess))
        for column, rates in ticks.rates.items():
            values = rates[known]
            if np.isnan(values).mean() > 0.1 or np.nanmax(values) == np.nanmin(values):
                continue
            tests.append((name, column, _chance(excess[known], values), count, outliers))
    if limits and not overlaps:
        yield finding("region_no_cause", {"study": study, "why": "apart", "ticks": 0})
        return
    if short_counts:
        yield finding("region_no_cause", {"study": study, "why": "few", "ticks": max(short_counts)})
    yield from _cause_findings(tests, study)


def _count_by_tick(records: codec.Records, limit: float, lengths: Lengths, ticks: Ticks) -> tuple[Floats, int, int]:
    """Return the outliers beyond the usual number by tick (NaN: no region), the number of ticks, and of outliers."""
    records = records[timed(records)]
    place = ticks.of(lengths.unix_ns(records))
    inside = place >= 0
    is_outlier = (lengths.ns(records["ticks"]) > limit) & inside
    size = len(ticks.begin)
    regions = np.bincount(place[inside], minlength=size).astype(float)
    outliers = np.bincount(place[is_outlier], minlength=size).astype(float)
    has_regions = regions > 0
    share = outliers.sum() / max(1.0, regions.sum())
    return np.where(has_regions, outliers - share * regions, np.nan), int(has_regions.sum()), int(outliers.sum())


def _chance(excess: Floats, values: Floats) -> float:
    """Return the share of shifts at which a column matches the ticks with more outliers than usual as well as without.

    `excess`, `values`: shape (ticks,); all shifts by a number of ticks are counted.
    """
    ranks = midranks(np.where(np.isnan(values), np.nanmedian(values), values))
    has_excess = (excess > 0).astype(float)
    # The sum of ranks in ticks with outliers, for each shift: a circular correlation.
    rank_sums = np.fft.irfft(np.fft.rfft(ranks) * np.conj(np.fft.rfft(has_excess)), n=len(ranks))
    return float(np.count_nonzero(rank_sums >= rank_sums[0] - 1e-6 * abs(rank_sums[0]) - 1e-9)) / len(rank_sums)


def _cause_findings(tests: Sequence[tuple[str, str, float, int, int]], study: int) -> Iterator[Finding]:
    if not tests:
        return
    adjusted = benjamini_hochberg([test[2] for test in tests])
    for name in dict.fromkeys(test[0] for test in tests):
        results = [(p, test) for p, test in zip(adjusted.tolist(), tests, strict=True) if test[0] == name]
        significant = sorted((p, test[1]) for p, test in results if p <= RATE)
        count, outliers = results[0][1][3:]
        if not significant:
            yield finding("region_no_cause", {"study": study, "why": "none", "ticks": count}, name)
            continue
        numbers = {"study": study, "columns": [column for _, column in significant], "p_value": significant[-1][0]}
        yield finding("region_cause", {**numbers, "ticks": count, "outliers": outliers}, name)
