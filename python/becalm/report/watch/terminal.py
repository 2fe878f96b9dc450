"""One watched run on the terminal: the answer, the waterfall, and a line for each measure over the run."""

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
"""The number of columns assumed for a terminal of unknown width."""

ALONGSIDE = 50
"""The number of characters next to a bar or a sparkline, which gets the remaining width within BARS."""

BARS = (8, 60)

LABEL = 18

STYLES = {REFERENCE: "green", UNEXPLAINED: "yellow"}
"""The colours of bars; all others are red, since they were added to the reference."""


def watched(result: Watched, *, plain: bool = False, columns: int = COLUMNS) -> RenderableType:
    """Return the report for the terminal, in this number of columns."""
    return apart(_parts(result, plain, min(max(columns - ALONGSIDE, BARS[0]), BARS[1])))


def _parts(result: Watched, plain: bool, width: int) -> Iterator[RenderableType]:
    lines = result.sentence.splitlines()
    yield Group(*(Text(line, "" if plain or index else "bold") for index, line in enumerate(lines)))
    if result.waterfall is not None:
        yield _waterfall(result.waterfall, plain, width)
    if (delays := tables.delays(result)) is not None:
        yield _grid(delays, plain)
    if result.courses:
        yield _courses(result, plain, width)
    if others := sentences.consumers(result):
        yield Text(f"Others that used most CPU time: {others}.")
    if sources := sentences.interrupters(result):
        yield Text(f"Interrupts of the machine: {sources}.")
    yield Group(*(Text(line, "" if plain else "dim") for line in _below(result)))


def _below(result: Watched) -> Iterator[str]:
    yield sentences.known(result)
    yield from result.more
    if cost := sentences.cost(result):
        yield cost
    if result.study is not None:
        yield f"Study {result.study}. Show again: becalm show {result.study}"


def _waterfall(falls: Waterfall, plain: bool, width: int) -> RenderableType:
    """Return bars below each other on the axis of wall time, each beginning where the one before ends."""
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
        text = _bar(begin, begin + length, falls.wall_ns, plain, width)
        style = "" if plain else STYLES.get(bar.name, "red")
        grid.add_row(cells[0], cells[1], cells[2], Text(text, style), cells[3])
        begin += length
    grid.add_row(*table.rows[-1][:3], "")
    return Group(Text(table.title, "" if plain else "bold"), grid, *_note(table, plain))


def _bar(begin: float, end: float, whole: float, plain: bool, width: int) -> str:
    """Return a bar from `begin` to `end` of `whole`, in either order; a bar of any length above 0 is visible."""
    low, high = sorted((begin / whole * width, end / whole * width))
    low, high = max(0.0, low), min(float(width), high)
    first, last = round(low), round(high)
    if end == begin:
        return ""
    if first == last:
        return " " * min(first, width - 1) + ("|" if plain else "▏")
    return " " * first + ("#" if plain else "█") * (last - first)


def _courses(result: Watched, plain: bool, width: int) -> RenderableType:
    table = tables.machine(result)
    grid = Grid(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    grid.add_column("", width=LABEL - 5, no_wrap=True)
    grid.add_column("", width=width, no_wrap=True)
    for head in table.head[1:]:
        grid.add_column(head, justify="right", no_wrap=True, min_width=9)
    cpus = float((result.load.cpus if result.load else None) or 1)
    for course, cells in zip(result.courses, table.rows, strict=True):
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
