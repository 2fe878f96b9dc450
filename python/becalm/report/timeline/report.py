"""The report of `becalm history`: what changed with which commit, then every benchmark as it stands."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.nouns.timeline import Timeline
from becalm.report.design.terminal import grid
from becalm.report.terminal import apart
from becalm.report.timeline.page import page
from becalm.report.timeline.tables import tables as tables
from becalm.wording import history as words
from becalm.wording.measurement import brief_findings


def on_terminal(found: Timeline, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = found.sentence.splitlines()
    parts: list[RenderableType] = [Group(Text(first, "" if plain else "bold"), *map(Text, rest))]
    parts += [grid(each, plain) for each in tables(found)]
    if found.changes and any(each.unmeasured for each in found.changes):
        parts.append(Group(*(Text(words.change(found, each)) for each in found.changes[-5:] if each.unmeasured)))
    parts.append(Group(*(Text(each.sentence) for each in brief_findings(found.findings))))
    return apart([each for each in parts if not isinstance(each, Group) or each.renderables])


def as_html(found: Timeline) -> str:
    """Return the page."""
    return page(found)
