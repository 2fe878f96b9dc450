"""Timed regions as tables of text."""

from __future__ import annotations

import math
from collections.abc import Iterator

from becalm.report.table import Table, explained
from becalm.results.regions import RegionAnswer, RegionComparison, RegionDifference, RegionReport
from becalm.wording import regions as words
from becalm.wording.numbers import percent
from becalm.wording.regions import fine

VARIES = {True: "yes", False: "no", None: "?"}


def regions(report: RegionReport) -> Iterator[Table]:
    """Yield the table of all names, the one with the most time first."""
    head = ("region", "many", "median", "net", "share", "least", "95 %", "99 %", "most", "spread", "varies", "outliers")
    ordered = sorted(report.regions, key=lambda region: -region.timed * region.mean_ns)
    rows = tuple(
        (
            region.name,
            f"{region.timed:,}",
            *map(fine, (region.median_ns, region.net_ns)),
            f"{percent(region.net_share)} %",
            *map(fine, (region.min_ns, region.p95_ns, region.p99_ns, region.max_ns, region.spread_ns)),
            VARIES[region.varies],
            f"{region.outliers:,}",
        )
        for region in ordered
    )
    legend = words.columns(report.cost_ns)
    if rows:
        numbers, spare = (*range(1, 10), 11), (5, 7, 9, 6, 8, 1, 4, 10, 3)
        yield Table("Regions", head, rows, numbers, explained(legend), codes=0, spare=spare, legend=legend)


def comparison(region_comparison: RegionComparison) -> Iterator[Table]:
    """Yield the table of all names, the largest change first."""
    level = f"{100 * region_comparison.confidence:g} % interval"
    head = ("region", "old net", "new net", "difference", level, "answer", "files or pieces")
    known = (RegionAnswer.SLOWER, RegionAnswer.FASTER)
    ordered = sorted(region_comparison.differences, key=lambda d: (d.answer not in known, -abs(d.estimate)))
    if ordered:
        yield Table("Old and new", head, tuple(map(_row, ordered)), (1, 2, 3, 4, 6), "", codes=0, spare=(6, 1, 2, 4))


def _row(d: RegionDifference) -> tuple[str, ...]:
    half = (d.high - d.low) / 2
    known = math.isfinite(half)
    ends = f"{percent(d.low, half, sign=True)} to {percent(d.high, half, sign=True)} %" if known else "not yet known"
    change = f"{percent(d.estimate, half if known else None, sign=True)} %"
    return d.name, fine(d.old_ns), fine(d.new_ns), change, ends, str(d.answer), f"{d.units[0]}, {d.units[1]}"
