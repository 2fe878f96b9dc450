"""The report of `becalm clock`: trust in the clock, the best timers, then a table."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report.clock.tables import grouped, results
from becalm.report.clock.tables import tables as tables
from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.report.terminal import apart
from becalm.results.clock import ClockReport


def on_terminal(report: ClockReport, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    return headed(report.sentence, (*results(report), *grouped(report)), plain)


def headed(sentence: str, tables: Iterable[Table], plain: bool) -> RenderableType:
    """Return sentences, the first one bold, followed by tables."""
    first, *rest = sentence.splitlines()
    parts: list[RenderableType] = [Group(Text(first, "" if plain else "bold"), *map(Text, rest))]
    parts += [grid(table, plain) for table in tables]
    return apart(parts)


def as_html(report: ClockReport) -> str:
    """Return the page with its plots."""
    from becalm.report.clock import html

    return html.page(report)
