"""The report of timed regions of several files."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report.design.terminal import grid
from becalm.report.regions.report import ROWS
from becalm.report.table import Table, explained
from becalm.report.table_width import LEAST
from becalm.report.terminal import apart, findings
from becalm.results.regions_overview import RegionOverview
from becalm.wording import regions_overview as words
from becalm.wording.numbers import percent
from becalm.wording.regions import fine
from becalm.wording.short_names import brief


def on_terminal(overview: RegionOverview, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = brief(overview.sentence, [region.name for region in overview.regions]).splitlines()
    parts: list[RenderableType] = [Group(Text(first, "" if plain else "bold"), *map(Text, rest))]
    for table in tables(overview):
        parts.append(grid(replace(table, rows=table.rows[:ROWS]), plain, LEAST))
        if len(table.rows) > ROWS:
            parts.append(Text(f"and {len(table.rows) - ROWS:,} more names: --json", "" if plain else "dim"))
    if overview.findings:
        parts.append(findings(overview.findings, plain))
    return apart(parts)


def tables(overview: RegionOverview) -> Iterator[Table]:
    """Yield the tables for Markdown and the page."""
    head = ("region", "files", "regions", "fastest", "median", "slowest", "in", "balance", "share")
    rows = tuple(
        (
            region.name,
            f"{region.files:,}",
            f"{region.regions:,}",
            fine(region.fastest[0]),
            fine(region.median_ns),
            fine(region.slowest[0]),
            region.slowest[1],
            f"{region.balance:.3g}",
            f"{percent(region.share)} %",
        )
        for region in overview.regions
    )
    if rows:
        numbers, spare = (1, 2, 3, 4, 5, 7, 8), (2, 1, 3, 7, 8)
        yield Table("Regions", head, rows, numbers, explained(words.LEGEND), codes=0, spare=spare, legend=words.LEGEND)
