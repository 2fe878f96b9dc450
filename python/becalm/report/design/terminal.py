"""A completed design on the terminal: the answer, findings about it, then the tables behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from becalm.report.design import tables
from becalm.report.table import Table
from becalm.report.table_width import Explained, Fitted
from becalm.report.terminal import apart, findings
from becalm.results.design_fit import DesignFit

LONGEST = 36
"""The number of characters that a name keeps; columns that can be spared are left out first."""


def report(fit: DesignFit, *, plain: bool = False) -> RenderableType:
    """Return the report for the terminal. `plain`: ASCII except for the units, no colours."""
    return apart(_parts(fit, plain))


def _parts(fit: DesignFit, plain: bool) -> Iterator[RenderableType]:
    yield Group(*(Text(_ascii(line, plain), "" if plain else "bold") for line in fit.sentence.splitlines()))
    if fit.findings:
        yield findings(fit.findings, plain)
    for table in tables.short(fit):
        yield grid(table, plain)
    yield Text(_ascii(tables.facts(fit), plain), "" if plain else "dim")


def grid(table: Table, plain: bool, least: int = LONGEST) -> RenderableType:
    """Return a table of text. `least`: the number of characters that a name keeps before columns are left out."""
    style = "" if plain else "dim"
    result = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=style, show_header=any(table.head))
    for index, head in enumerate(table.head):
        justify: Literal["left", "right"] = "right" if index in table.numbers else "left"
        result.add_column(
            _ascii(head, plain), justify=justify, overflow="fold", no_wrap=index in table.numbers or not index
        )
    for row in table.rows:
        result.add_row(*(_ascii(cell, plain) for cell in row))
    title = [Text(table.title, "" if plain else "bold")] if table.title else []
    names = () if 0 in table.numbers else (0,)
    fitted: RenderableType = result
    if table.names:
        fitted = Fitted(result, table.names, table.spare)
    elif table.spare:
        fitted = Fitted(result, names, table.spare, least)
    if not table.note:
        return Group(*title, fitted)
    if isinstance(fitted, Fitted) and table.legend:
        return Group(*title, fitted, Explained(fitted, table, style))
    return Group(*title, fitted, Text(_ascii(table.note, plain), style))


def _ascii(text: str, plain: bool) -> str:
    return text.replace("R²", "R2").replace("–", "-") if plain else text
