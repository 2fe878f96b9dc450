"""The report of a comparison of timed regions."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report.design.terminal import grid
from becalm.report.regions.report import ROWS
from becalm.report.regions.tables import comparison
from becalm.report.table import Table
from becalm.report.table_width import LEAST
from becalm.report.terminal import apart, findings
from becalm.results.regions import RegionComparison
from becalm.wording.short_names import brief


def on_terminal(region_comparison: RegionComparison, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = brief(
        region_comparison.sentence, [difference.name for difference in region_comparison.differences]
    ).splitlines()
    parts: list[RenderableType] = [Group(Text(first, "" if plain else "bold"), *map(Text, rest))]
    for table in comparison(region_comparison):
        parts.append(grid(replace(table, rows=table.rows[:ROWS]), plain, LEAST))
        if len(table.rows) > ROWS:
            parts.append(Text(f"and {len(table.rows) - ROWS:,} more names: --json", "" if plain else "dim"))
    if region_comparison.findings:
        parts.append(findings(region_comparison.findings, plain))
    return apart(parts)


def tables(region_comparison: RegionComparison) -> Iterator[Table]:
    """Yield the tables for Markdown and the page."""
    yield from comparison(region_comparison)
