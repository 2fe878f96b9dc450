"""The report of one watched run."""

from __future__ import annotations

from rich.console import RenderableType

from becalm.load.run_report import Watched
from becalm.report.watch import html, markdown, terminal


def on_terminal(watched: Watched, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    return terminal.watched(watched, plain=plain, columns=columns)


as_markdown = markdown.write
as_html = html.page
