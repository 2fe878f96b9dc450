"""The report of an explanation."""

from __future__ import annotations

from rich.console import RenderableType

from becalm.load.explanation import Explanation
from becalm.report.explain import html, markdown, terminal


def on_terminal(explanation: Explanation, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    return terminal.explanation(explanation, plain=plain)


as_markdown = markdown.write
as_html = html.page
