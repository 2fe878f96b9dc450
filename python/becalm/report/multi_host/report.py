"""The report of a measurement on several hosts."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from becalm.report.forms import generic_html, generic_markdown, listed
from becalm.report.multi_host import terminal
from becalm.report.table import Table
from becalm.report.tune import html as page
from becalm.report.tune import markdown
from becalm.report.tune import terminal as tune
from becalm.results.multi_host import MultiHostVerdict
from becalm.results.tune import TuneVerdict


def on_terminal(verdict: MultiHostVerdict, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    if verdict.kind != "tune":
        return terminal.several(verdict, plain=plain)
    first = verdict.hosts[0].verdict
    whole = terminal.transferred(verdict, plain=plain)
    return Group(tune.search_result(first, plain=plain), whole) if isinstance(first, TuneVerdict) else whole


def tables(verdict: MultiHostVerdict) -> Iterator[Table]:
    """Yield the hosts, at each comparison; or the results of settings that were tried on them."""
    yield from map(listed, terminal.tables(verdict))


def as_markdown(verdict: MultiHostVerdict) -> str:
    """Return the report in Markdown; of a search, that of the searched host, then the results on the others."""
    first = verdict.hosts[0].verdict if verdict.hosts else None
    rest = generic_markdown(verdict)
    return f"{markdown.write(first)}\n{rest}" if isinstance(first, TuneVerdict) else rest


def as_html(verdict: MultiHostVerdict) -> str:
    """Return the report as a page; of a search, that of the searched host."""
    first = verdict.hosts[0].verdict if verdict.hosts else None
    return page.page(first) if isinstance(first, TuneVerdict) else generic_html(verdict)
