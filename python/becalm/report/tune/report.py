"""The report of a search for settings."""

from __future__ import annotations

from rich.console import RenderableType

from becalm.report.tune import html, markdown, terminal
from becalm.results.tune import TuneVerdict


def on_terminal(verdict: TuneVerdict, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    return terminal.search_result(verdict, plain=plain)


as_markdown = markdown.write
as_html = html.page
