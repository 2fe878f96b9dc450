"""The report of `becalm history`: changes with their commits, then the state of every benchmark."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report.design.terminal import grid
from becalm.report.history.page import page
from becalm.report.history.tables import tables as tables
from becalm.report.terminal import apart
from becalm.results.history import Timeline
from becalm.wording import history as words
from becalm.wording.short_names import brief_findings


def on_terminal(timeline: Timeline, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = timeline.sentence.splitlines()
    parts: list[RenderableType] = [Group(Text(first, "" if plain else "bold"), *map(Text, rest))]
    parts += [grid(table, plain) for table in tables(timeline)]
    if timeline.changes and any(change.unmeasured for change in timeline.changes):
        parts.append(
            Group(*(Text(words.change(timeline, change)) for change in timeline.changes[-5:] if change.unmeasured))
        )
    parts.append(Group(*(Text(finding.sentence) for finding in brief_findings(timeline.findings))))
    return apart([part for part in parts if not isinstance(part, Group) or part.renderables])


def as_html(timeline: Timeline) -> str:
    """Return the page."""
    return page(timeline)
