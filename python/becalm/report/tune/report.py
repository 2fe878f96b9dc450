"""The report of a search for settings."""

from __future__ import annotations

from rich.console import RenderableType

from becalm.nouns.tune_verdict import TuneVerdict
from becalm.report.tune import html, markdown, terminal


def on_terminal(found: TuneVerdict, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Everything a person sees at the end of `tune`."""
    return terminal.search_result(found, plain=plain)


as_markdown = markdown.write
as_html = html.page
