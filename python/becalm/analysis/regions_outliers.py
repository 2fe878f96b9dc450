"""What the machine did when regions stood out: outliers laid beside the ticks of a record of load.

`ticks` makes the ticks of a study's loads, or of its series where there are some; `causes` asks, for each name with
outliers and each column, whether the column is higher in the ticks that hold more outliers than is usual. Both come in
bursts, so the chance is taken from the same outliers laid beside the same load at every other distance in time
(a rotation test: only how both are ordered matters, not how they are distributed), and corrected for all columns and
names (false discovery rate, Benjamini & Hochberg 1995). A cause here is a coincidence that chance does not explain.

Public: Ticks, ticks, causes, RATE.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
"""Share of wrong causes among those that are named."""

LEAST = 40
"""Ticks with regions of a name below which nothing is said: no fewer could ever show anything at RATE."""

_STATES = ("queue", "throttled")


@dataclass(frozen=True, slots=True)
class Ticks:
    """Intervals of a record of load in order of time. `begin`, `end`: Unix ns, shape (ticks,); `rates`: by column, a
    second or as a state; NaN where unknown."""

    begin: Ints
    end: Ints
    rates: Mapping[str, Floats]

    def of(self, times: Ints) -> Ints:
        """The tick that each moment lies in, -1 for none."""
        if not len(self.begin):
            return np.full(len(times), -1)
        place = np.searchsorted(self.begin, times, side="right") - 1
        inside = (place >= 0) & (times < self.end[np.maximum(place, 0)])
        return np.where(inside, place, -1)


def ticks(loads: Sequence[Load], series: Sequence[Series], started: Mapping[int, int]) -> Ticks:
    """The finest record there is. `started`: when the run of a number began, in Unix ns."""
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
    series: Sequence[Series], started: Mapping[int, int]
) -> Iterator[tuple[int, int, dict[str, float | None]]]:
    for each in series:
        since = started.get(each.first)
        if since is None:
            continue
        for before, row in zip(each.rows, each.rows[1:], strict=False):
            values = dict(zip(each.names, row[1:], strict=True))
            yield since + int(before[0] or 0), since + int(row[0] or 0), values


def causes(report: RegionReport, lengths: Lengths, beside: Ticks, study: int) -> Iterator[Finding]:
    """What came with the outliers of each name, as findings; one that says why, where nothing can be said."""
    limits = {region.name: region.outlier_from_ns for region in report.regions if region.outliers}
    asked: list[tuple[str, str, float, int, int]] = []
    few: list[int] = []
    met = False
    for name, records in lengths.by_name():
        if name not in limits:
            continue
        excess, many, outliers = _counted(records, limits[name], lengths, beside)
        met |= many > 0
        if many < LEAST or not outliers:
            few.append(many)
            continue
        here = np.flatnonzero(~np.isnan(excess))
        for column, rates in beside.rates.items():
            values = rates[here]
            if np.isnan(values).mean() > 0.1 or np.nanmax(values) == np.nanmin(values):
                continue
            asked.append((name, column, _chance(excess[here], values), many, outliers))
    if limits and not met:
        yield finding("region_no_cause", {"study": study, "why": "apart", "ticks": 0})
        return
    if few:
        yield finding("region_no_cause", {"study": study, "why": "few", "ticks": max(few)})
    yield from _named(asked, study)


def _counted(records: codec.Records, limit: float, lengths: Lengths, beside: Ticks) -> tuple[Floats, int, int]:
    """By tick, how many outliers more than usual a name has there (NaN: no region), the ticks, and the outliers."""
    records = records[timed(records)]
    place = beside.of(lengths.unix_ns(records))
    inside = place >= 0
    out = (lengths.ns(records["ticks"]) > limit) & inside
    size = len(beside.begin)
    regions = np.bincount(place[inside], minlength=size).astype(float)
    beyond = np.bincount(place[out], minlength=size).astype(float)
    there = regions > 0
    share = beyond.sum() / max(1.0, regions.sum())
    return np.where(there, beyond - share * regions, np.nan), int(there.sum()), int(beyond.sum())


def _chance(excess: Floats, values: Floats) -> float:
    """How often ranks of a column meet the ticks with more outliers than usual as well as they do, when both are turned
    against each other by every number of ticks."""
    ranks = midranks(np.where(np.isnan(values), np.nanmedian(values), values))
    hit = (excess > 0).astype(float)
    # The sum of ranks in hit ticks, for each turn: a circular correlation.
    turned = np.fft.irfft(np.fft.rfft(ranks) * np.conj(np.fft.rfft(hit)), n=len(ranks))
    return float(np.count_nonzero(turned >= turned[0] - 1e-6 * abs(turned[0]) - 1e-9)) / len(turned)


def _named(asked: Sequence[tuple[str, str, float, int, int]], study: int) -> Iterator[Finding]:
    if not asked:
        return
    adjusted = benjamini_hochberg([each[2] for each in asked])
    for name in dict.fromkeys(each[0] for each in asked):
        mine = [(p, each) for p, each in zip(adjusted.tolist(), asked, strict=True) if each[0] == name]
        seen = sorted((p, each[1]) for p, each in mine if p <= RATE)
        many, outliers = mine[0][1][3:]
        if not seen:
            yield finding("region_no_cause", {"study": study, "why": "none", "ticks": many}, name)
            continue
        numbers = {"study": study, "columns": [column for _, column in seen], "p_value": seen[-1][0]}
        yield finding("region_cause", {**numbers, "ticks": many, "outliers": outliers}, name)
