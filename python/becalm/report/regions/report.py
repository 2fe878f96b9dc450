"""The report of one file of timed regions: the answer, a table, the distribution of lengths, findings."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from becalm.report.design.terminal import grid
from becalm.report.page import Part, Picture, filled
from becalm.report.regions import figures
from becalm.report.regions.tables import regions
from becalm.report.table import Table
from becalm.report.table_width import LEAST
from becalm.report.terminal import apart, bar, findings
from becalm.results.regions import RegionReport, RegionSummary
from becalm.wording import regions as words
from becalm.wording.regions import fine
from becalm.wording.short_names import brief, short, whole

ROWS = 40
"""The number of names that the terminal lists: those that take the most time."""

DRAWN = 2
"""The number of names whose lengths the terminal draws: those that take the most time."""

PICTURES = 8
"""The number of names that are plotted on the page; each plot takes a tenth of a second."""


def on_terminal(report: RegionReport, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    return apart(_parts(report, plain))


def tables(report: RegionReport) -> Iterator[Table]:
    """Yield the tables for Markdown."""
    yield from regions(report)


def as_html(report: RegionReport) -> str:
    """Return the page."""
    first, *rest = report.sentence.splitlines()
    table = next(regions(report), None)
    plotted = largest(report)[:PICTURES]
    names = whole([summary.name for summary in plotted])
    parts = []
    for name, summary in zip(names, plotted, strict=True):
        if summary.timed > 1:
            left = "Left: how often each length was timed, without the longest hundredth; the line is the median. "
            right = (
                "Right: the share of regions that took at least this long, on logarithmic axes; a dashed line "
                "separates outliers."
            )
            parts.append(Part(name, (Picture(figures.lengths(summary, report), left + right),)))
    if table is not None:
        # Plots are below a table that can be read at a glance, and above a longer one.
        parts.insert(0 if len(table.rows) <= ROWS else len(parts), Part("Regions", (), table))
    return filled(
        "parts.html",
        title=first,
        lines=[*rest, *words.drawn(len(plotted), len(report.regions))],
        parts=parts,
        findings=report.findings,
        facts=_facts(report),
    )


def largest(report: RegionReport) -> list[RegionSummary]:
    """Return the names in the order of their total time."""
    return sorted(report.regions, key=lambda region: -region.timed * region.mean_ns)


def _parts(report: RegionReport, plain: bool) -> Iterator[RenderableType]:
    names = (report.title, *(region.name for region in report.regions), *report.untimed)
    first, *rest = brief(report.sentence, names).splitlines()
    yield Group(Text(first, "" if plain else "bold"), *map(Text, rest))
    for table in regions(report):
        yield grid(replace(table, rows=table.rows[:ROWS]), plain, LEAST)
        if len(table.rows) > ROWS:
            yield Text(
                f"and {len(table.rows) - ROWS:,} more names: --report FILE.html, or --json", "" if plain else "dim"
            )
    plotted = [summary for summary in largest(report) if len(summary.histogram.counts) > 1][:DRAWN]
    for name, summary in zip(short([summary.name for summary in plotted]), plotted, strict=True):
        yield _histogram(name, summary, plain)
    if report.findings:
        yield findings(report.findings, plain)
    yield Text(_facts(report), "" if plain else "dim")


def _histogram(name: str, summary: RegionSummary, plain: bool, width: int = 40) -> RenderableType:
    """Return a histogram of lengths: each line begins at its label, the last label is the end of the last line."""
    histogram = summary.histogram
    table = Grid(
        title=Text(name), title_justify="left", box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for justify in ("right", "left", "right"):
        table.add_column(justify=justify, no_wrap=True)
    most, step = max(histogram.counts), (histogram.high - histogram.low) / len(histogram.counts)
    if histogram.below:
        table.add_row(f"below {_tick(histogram.low, step)}", "", f"{histogram.below:,}")
    for index, count in enumerate(histogram.counts):
        begin = histogram.low + index * step
        table.add_row(f"{_tick(begin, step)} …", bar(count / most, width, plain), f"{count:,}")
    table.add_row(_tick(histogram.high, step), "", "")
    if histogram.above:
        table.add_row(f"above, to {fine(summary.max_ns)}", "", f"{histogram.above:,}")
    return table


def _tick(ns: float, step: float) -> str:
    """Return a length with the digits that tell it from the next one."""
    if ns >= 1e4 * step and ns >= 1e5:
        return fine(ns)
    digits = 0 if step >= 10 or step == 0 else min(3, max(0, 1 - math.floor(math.log10(step))))
    return fine(ns) if ns >= 1e5 else f"{ns:,.{digits}f} ns"


def _facts(report: RegionReport) -> str:
    clock = f"{report.source}, {report.hz / 1e6:.1f} MHz"
    step = "" if report.quantum_ns is None else f", steps by {fine(report.quantum_ns)}"
    again = "" if report.study is None else f"Study {report.study}. Show again: becalm show {report.study}. "
    return f"{again}{clock}{step}{f'; {report.model}' if report.model else ''}"
