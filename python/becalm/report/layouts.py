"""The report of `compare --layouts`: the difference beyond layout, and how far layout alone moves each program."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from becalm.report.axis import Axis
from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.report.terminal import apart, findings, style
from becalm.results.layouts import LayoutComparison
from becalm.wording import layouts as words
from becalm.wording.printable import cut

WIDEST, NARROWEST = 56, 20
"""Columns of the picture of the builds, at most and at least."""

NAME = 20
"""Columns of a name next to its builds."""

LABEL = "difference"
"""The name of the interval's line."""


def on_terminal(comparison: LayoutComparison, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    return apart(_parts(comparison, plain, columns))


def _parts(comparison: LayoutComparison, plain: bool, columns: int) -> Iterator[RenderableType]:
    first, *rest = comparison.sentence.splitlines()
    yield Group(Text(first, "" if plain else style(comparison.difference)), *map(Text, rest))
    yield grid(_sides(comparison), plain)
    yield _picture(comparison, plain, columns)
    if comparison.findings:
        yield findings(comparison.findings, plain)
    if comparison.study is not None:
        number = comparison.study
        yield Text(f"Study {number}, seed {comparison.seed}. Show again: becalm show {number}", "" if plain else "dim")


def tables(comparison: LayoutComparison) -> Iterator[Table]:
    """Yield the programs, then all builds."""
    yield _sides(comparison)
    yield Table("Builds", words.LAYOUT_HEAD, words.layout_rows(comparison), (1, 2, 3, 4), codes=0)


def _sides(comparison: LayoutComparison) -> Table:
    return Table(
        "",
        words.head(comparison),
        words.rows(comparison),
        (1, 2, 3, 4, 5, 6),
        words.legend(comparison),
        spare=(1, 4),
        codes=0,
    )


def as_html(comparison: LayoutComparison) -> str:
    """Return the page."""
    from becalm.report.layouts_html import page

    return page(comparison, tuple(tables(comparison)))


def _picture(comparison: LayoutComparison, plain: bool, columns: int) -> RenderableType:
    """Return a line for each program with a mark for each build, and the interval of the difference, on one axis."""
    d, names = comparison.difference, [cut(side.name, NAME) for side in comparison.sides]
    # As wide as the names leave it, with a gap of two on both sides.
    width = max(NARROWEST, min(WIDEST, columns - max(map(len, (*names, LABEL))) - 4))
    places = [[layout.difference for layout in side.layouts] for side in comparison.sides]
    axis = Axis((d.low, d.high, *chain.from_iterable(places)), width, plain=plain, margin=0.03)
    table = Grid(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    for name, own in zip(names, places, strict=True):
        table.add_row(name, axis.points(own))
    line = axis.interval(d.low, d.estimate, d.high, "x" if plain else "┼")
    table.add_row(LABEL, line, style=None if plain else style(d).removeprefix("bold "))
    table.add_row("", Text(axis.labels(), "" if plain else "dim"))
    return table
