"""One watched run as Markdown, for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from becalm.load.metrics import Unit
from becalm.load.run_report import Watched
from becalm.report.markdown import escaped, grid, written
from becalm.report.table import Table
from becalm.report.watch import tables
from becalm.report.watch.numbers import sparkline, stretched
from becalm.wording import watch as sentences

WIDTH = 30
"""The width of a line over time, in characters."""


def write(watched: Watched) -> str:
    """Return the whole report."""
    return written(_lines(watched))


def _lines(watched: Watched) -> Iterator[str]:
    for index, line in enumerate(watched.sentence.splitlines()):
        yield from (escaped(line) if index else f"**{escaped(line)}**", "")
    if watched.waterfall is not None:
        yield from _table(tables.bars(watched.waterfall))
    if (delays := tables.delays(watched)) is not None:
        yield from _table(delays)
    if watched.courses:
        yield from _table(courses(watched), codes=1)
    if others := sentences.consumers(watched):
        yield from (f"Others that used most CPU time: {escaped(others)}.", "")
    if sources := sentences.interrupters(watched):
        yield from (f"Interrupts of the machine: {escaped(sources)}.", "")
    yield escaped(sentences.known(watched))
    yield from map(escaped, watched.more)
    if cost := sentences.cost(watched):
        yield from ("", escaped(cost))


def courses(watched: Watched) -> Table:
    """Return the machine's table with a line over time in its second column."""
    table = tables.machine(watched)
    cpus = float((watched.load.cpus if watched.load else None) or 1)
    rows = []
    for course, cells in zip(watched.courses, table.rows, strict=True):
        unit = Unit(course.unit)
        whole = course.at_ns[-1] if course.at_ns else 0.0
        values = stretched(course.at_ns, course.values, whole, WIDTH)
        line = sparkline(values, WIDTH, unit, least=cpus if unit is Unit.TASKS else 0.0)
        rows.append((cells[0], line, *cells[1:]))
    return Table(table.title, ("", "over time", *table.head[1:]), tuple(rows), (2, 3, 4), table.note)


def _table(table: Table, codes: int | None = None) -> Iterator[str]:
    yield from (f"## {escaped(table.title)}", "", *grid(table, codes), "")
    for line in table.note.splitlines():
        yield from (escaped(line), "")
