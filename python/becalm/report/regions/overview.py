"""The report of timed regions of several files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.nouns.region_overview import RegionOverview
from becalm.report.design.terminal import grid
from becalm.report.fitted import LEAST
from becalm.report.regions.report import ROWS
from becalm.report.table import Table, explained
from becalm.report.terminal import apart, findings
from becalm.wording import region_overview as words
from becalm.wording.measurement import brief, percent
from becalm.wording.regions import fine


def on_terminal(found: RegionOverview, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = brief(found.sentence, [each.name for each in found.regions]).splitlines()
    parts: list[RenderableType] = [Group(Text(first, "" if plain else "bold"), *map(Text, rest))]
    for table in tables(found):
        parts.append(grid(replace(table, rows=table.rows[:ROWS]), plain, LEAST))
        if len(table.rows) > ROWS:
            parts.append(Text(f"and {len(table.rows) - ROWS:,} more names: --json", "" if plain else "dim"))
    if found.findings:
        parts.append(findings(found.findings, plain))
    return apart(parts)


def tables(found: RegionOverview) -> Iterator[Table]:
    """Yield the tables for Markdown and the page."""
    head = ("region", "files", "regions", "fastest", "median", "slowest", "in", "balance", "share")
    rows = tuple(
        (
            each.name,
            f"{each.files:,}",
            f"{each.regions:,}",
            fine(each.fastest[0]),
            fine(each.median_ns),
            fine(each.slowest[0]),
            each.slowest[1],
            f"{each.balance:.3g}",
            f"{percent(each.share)} %",
        )
        for each in found.regions
    )
    if rows:
        numbers, spare = (1, 2, 3, 4, 5, 7, 8), (2, 1, 3, 7, 8)
        yield Table("Regions", head, rows, numbers, explained(words.LEGEND), codes=0, spare=spare, legend=words.LEGEND)
