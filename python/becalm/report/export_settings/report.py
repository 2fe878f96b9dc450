"""Settings for production on the terminal and as Markdown: the files, how to apply and undo them, and what is left."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report.design.terminal import grid
from becalm.report.markdown import escaped, written
from becalm.report.markdown import grid as markdown_grid
from becalm.report.page import filled
from becalm.report.table import Table
from becalm.report.terminal import apart
from becalm.results.export_settings import ProductionFile, ProductionSettings


def on_terminal(settings: ProductionSettings, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the files, then the settings that none of them holds."""
    return apart(_parts(settings, plain))


def _parts(settings: ProductionSettings, plain: bool) -> Iterator[RenderableType]:
    yield Text(settings.sentence, "" if plain else "bold")
    for file in settings.files:
        title = Text(file.path, "" if plain else "bold cyan")
        body = Text(file.content.rstrip("\n"))
        yield Group(title, body)
    yield from (grid(table, plain) for table in tables(settings))
    if settings.remarks:
        yield Group(*(Text(remark, "" if plain else "yellow") for remark in settings.remarks))


def tables(settings: ProductionSettings) -> Iterator[Table]:
    """Yield the table of settings that no file holds."""
    if settings.left:
        rows = tuple((setting.knob, setting.reason) for setting in settings.left)
        yield Table("In none of these files", ("setting", "because, or instead"), rows)


def as_markdown(settings: ProductionSettings) -> str:
    """Return each file as a code block."""
    return written(_lines(settings))


def _lines(settings: ProductionSettings) -> Iterator[str]:
    yield from (f"**{escaped(settings.sentence)}**", "")
    for file in settings.files:
        yield from _file(file)
    for table in tables(settings):
        yield from (f"## {escaped(table.title)}", "", *markdown_grid(table), "")
    yield from (f"- {escaped(remark)}" for remark in settings.remarks)


def _file(file: ProductionFile) -> Iterator[str]:
    yield from (f"## {escaped(file.path)}", "", "```", *file.content.splitlines(), "```", "")


def as_html(settings: ProductionSettings) -> str:
    """Return each file as it is, with a button to copy it."""
    return filled(
        "export_settings/page.html",
        title=settings.sentence,
        files=settings.files,
        tables=tuple(tables(settings)),
        remarks=settings.remarks,
        findings=(),
        facts="",
    )
