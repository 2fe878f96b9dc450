"""Settings for production on the terminal and as Markdown: the files, how to put them on and off, and what is left."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.nouns.production import ProductionFile, ProductionSettings
from becalm.report.design.terminal import grid
from becalm.report.markdown import escaped, written
from becalm.report.markdown import grid as markdown_grid
from becalm.report.page import filled
from becalm.report.table import Table
from becalm.report.terminal import apart


def on_terminal(found: ProductionSettings, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the files as they are, then the settings in none of them."""
    return apart(_parts(found, plain))


def _parts(found: ProductionSettings, plain: bool) -> Iterator[RenderableType]:
    yield Text(found.sentence, "" if plain else "bold")
    for each in found.files:
        title = Text(each.path, "" if plain else "bold cyan")
        body = Text(each.content.rstrip("\n"))
        yield Group(title, body)
    yield from (grid(each, plain) for each in tables(found))
    if found.remarks:
        yield Group(*(Text(each, "" if plain else "yellow") for each in found.remarks))


def tables(found: ProductionSettings) -> Iterator[Table]:
    """Yield the table of settings that no file holds."""
    if found.left:
        rows = tuple((each.knob, each.reason) for each in found.left)
        yield Table("In none of these files", ("setting", "because, or instead"), rows)


def as_markdown(found: ProductionSettings) -> str:
    """Return each file as a block of code."""
    return written(_lines(found))


def _lines(found: ProductionSettings) -> Iterator[str]:
    yield from (f"**{escaped(found.sentence)}**", "")
    for each in found.files:
        yield from _file(each)
    for table in tables(found):
        yield from (f"## {escaped(table.title)}", "", *markdown_grid(table), "")
    yield from (f"- {escaped(each)}" for each in found.remarks)


def _file(file: ProductionFile) -> Iterator[str]:
    yield from (f"## {escaped(file.path)}", "", "```", *file.content.splitlines(), "```", "")


def as_html(found: ProductionSettings) -> str:
    """Return each file as it is, to be copied by a click."""
    return filled(
        "production/page.html",
        title=found.sentence,
        files=found.files,
        tables=tuple(tables(found)),
        remarks=found.remarks,
        findings=(),
        facts="",
    )
