"""One watched run on the terminal: the answer, the waterfall, and a line of each measure over the run."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from becalm.load.metrics import Unit
from becalm.load.run_report import Watched
from becalm.load.waterfall import REFERENCE, UNEXPLAINED, Waterfall
from becalm.report.table import Table
from becalm.report.terminal import apart
from becalm.report.watch import tables
from becalm.report.watch.numbers import sparkline, stretched
from becalm.wording import watch as sentences

COLUMNS = 80
"""The columns of a terminal whose width is not known."""

BESIDE = 50
"""Characters that stand beside a bar or a sparkline; these have what a terminal is wider than that, within BARS."""

BARS = (8, 60)

LABEL = 18

STYLES = {REFERENCE: "green", UNEXPLAINED: "yellow"}
"""Colours of bars; all others are red: they are what came on top."""


def watched(found: Watched, *, plain: bool = False, columns: int = COLUMNS) -> RenderableType:
    """Return the report for the terminal, in this number of columns."""
    return apart(_parts(found, plain, min(max(columns - BESIDE, BARS[0]), BARS[1])))


def _parts(found: Watched, plain: bool, width: int) -> Iterator[RenderableType]:
    lines = found.sentence.splitlines()
    yield Group(*(Text(line, "" if plain or index else "bold") for index, line in enumerate(lines)))
    if found.waterfall is not None:
        yield _waterfall(found.waterfall, plain, width)
    if (delays := tables.delays(found)) is not None:
        yield _grid(delays, plain)
    if found.courses:
        yield _courses(found, plain, width)
    if others := sentences.consumers(found):
        yield Text(f"Others that used most CPU time: {others}.")
    if sources := sentences.interrupters(found):
        yield Text(f"Interrupts of the machine: {sources}.")
    yield Group(*(Text(line, "" if plain else "dim") for line in _below(found)))


def _below(found: Watched) -> Iterator[str]:
    yield sentences.known(found)
    yield from found.more
    if cost := sentences.cost(found):
        yield cost
    if found.study is not None:
        yield f"Study {found.study}. Show again: becalm show {found.study}"


def _waterfall(falls: Waterfall, plain: bool, width: int) -> RenderableType:
    """Return bars one below the other, each beginning where the one before ends, on the axis of wall time."""
    grid = Grid(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    grid.add_column(width=LABEL - 1, no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(width=width, no_wrap=True)
    grid.add_column(style="" if plain else "dim", no_wrap=True)
    table = tables.bars(falls)
    begin = 0.0
    for bar, cells in zip(falls.bars, table.rows, strict=False):
        length = bar.ns or 0.0
        drawn = _bar(begin, begin + length, falls.wall_ns, plain, width)
        style = "" if plain else STYLES.get(bar.name, "red")
        grid.add_row(cells[0], cells[1], cells[2], Text(drawn, style), cells[3])
        begin += length
    grid.add_row(*table.rows[-1][:3], "")
    return Group(Text(table.title, "" if plain else "bold"), grid, *_note(table, plain))


def _bar(begin: float, end: float, whole: float, plain: bool, width: int) -> str:
    """Return a bar from `begin` to `end` of `whole`, in either order; one of any length shows."""
    low, high = sorted((begin / whole * width, end / whole * width))
    low, high = max(0.0, low), min(float(width), high)
    first, last = round(low), round(high)
    if end == begin:
        return ""
    if first == last:
        return " " * min(first, width - 1) + ("|" if plain else "▏")
    return " " * first + ("#" if plain else "█") * (last - first)


def _courses(found: Watched, plain: bool, width: int) -> RenderableType:
    table = tables.machine(found)
    grid = Grid(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    grid.add_column("", width=LABEL - 5, no_wrap=True)
    grid.add_column("", width=width, no_wrap=True)
    for head in table.head[1:]:
        grid.add_column(head, justify="right", no_wrap=True, min_width=9)
    cpus = float((found.load.cpus if found.load else None) or 1)
    for course, cells in zip(found.courses, table.rows, strict=True):
        unit = Unit(course.unit)
        least = cpus if unit is Unit.TASKS else 0.0
        whole = course.at_ns[-1] if course.at_ns else 0.0
        line = sparkline(stretched(course.at_ns, course.values, whole, width), width, unit, least=least, plain=plain)
        grid.add_row(cells[0], Text(line, "" if plain else "cyan"), *cells[1:])
    return Group(Text(table.title, "" if plain else "bold"), grid, *_note(table, plain))


def _grid(table: Table, plain: bool) -> RenderableType:
    grid = Grid(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for index in range(len(table.head)):
        grid.add_column(justify="right" if index in table.numbers else "left", overflow="fold", no_wrap=index < 2)
    for row in table.rows:
        grid.add_row(*row)
    return Group(Text(table.title, "" if plain else "bold"), grid, *_note(table, plain))


def _note(table: Table, plain: bool) -> list[RenderableType]:
    return [Text(table.note, "" if plain else "dim")] if table.note else []
