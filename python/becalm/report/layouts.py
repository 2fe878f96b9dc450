"""The report of `compare --layouts`: the difference beyond layout, and how far layout alone moves each program."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.report.terminal import apart, findings, style
from becalm.results.layouts import LayoutComparison
from becalm.wording import layouts as words
from becalm.wording.numbers import percent
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
    places = [layout.difference for side in comparison.sides for layout in side.layouts]
    low, high = min(0.0, d.low, *places), max(0.0, d.high, *places)
    margin = 0.03 * (high - low) or 0.001
    low, high = low - margin, high + margin

    def at(value: float) -> int:
        return round((value - low) / (high - low) * (width - 1))

    table = Grid(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    dot, line, left, right, zero = ("o", "-", "|", "|", ":") if plain else ("●", "─", "├", "┤", "┊")
    for name, side in zip(names, comparison.sides, strict=True):
        cells = [" "] * width
        cells[at(0.0)] = zero
        for layout in side.layouts:
            cells[at(layout.difference)] = dot
        table.add_row(name, "".join(cells).rstrip())
    cells = [" "] * width
    cells[at(0.0)] = zero
    for place in range(at(d.low), at(d.high) + 1):
        cells[place] = line
    cells[at(d.low)], cells[at(d.high)] = left, right
    cells[at(d.estimate)] = "x" if plain else "┼"
    table.add_row(LABEL, "".join(cells).rstrip(), style=None if plain else style(d).removeprefix("bold "))
    axis = [" "] * width
    for value, label in ((0.0, "0"), (low, _tick(low, high - low)), (high, _tick(high, high - low))):
        start = min(max(0, at(value) - len(label) // 2), len(axis) - len(label))
        if all(cell == " " for cell in axis[max(0, start - 1) : start + len(label) + 1]):
            axis[start : start + len(label)] = label
    table.add_row("", Text("".join(axis).rstrip(), "" if plain else "dim"))
    return table


def _tick(value: float, span: float) -> str:
    return f"{percent(value, span if math.isfinite(span) else None, sign=True)} %"
