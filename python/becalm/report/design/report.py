"""The report of a completed design."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from becalm.report.design import html, terminal
from becalm.report.design.tables import every
from becalm.report.table import Table
from becalm.results.design_fit import DesignFit


def on_terminal(fit: DesignFit, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    return terminal.report(fit, plain=plain)


def tables(fit: DesignFit) -> Iterator[Table]:
    """Yield all tables, for Markdown."""
    yield from every(fit)


as_html = html.page
