"""An explanation on the terminal: the answer, then the tables behind it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from becalm.load.attribution import CauseSearch
from becalm.load.explanation import Case, Explanation
from becalm.report.explain import tables
from becalm.report.explain.diagram import diagram
from becalm.report.explain.scale import DiagramScale, scale
from becalm.report.table import Table
from becalm.report.terminal import apart, findings

STYLES = {CauseSearch.NAMED: "bold red", CauseSearch.NONE: "bold green", CauseSearch.NO_LOAD: "bold green"}


def explanation(result: Explanation, *, plain: bool = False) -> RenderableType:
    """Return the report for the terminal. `plain`: ASCII except for the units, no colours."""
    return apart(_parts(result, plain))


def _parts(result: Explanation, plain: bool) -> Iterator[RenderableType]:
    yield Group(*(Text(case.sentence, "" if plain else _style(case)) for case in result.cases))
    if len(result.cases) > 1:
        yield _grid(tables.summary(result), plain, "")
    on = scale(result.cases)
    for place, case in enumerate(result.cases):
        title = f": {case.program} on {case.machine}" if len(result.cases) > 1 else ""
        if len(result.cases) <= 3:
            yield from _case(case, plain, title, on, first=place == 0)
    if result.findings:
        yield findings(result.findings, plain)
    if result.studies:
        yield Text(f"{tables.studies(result)} With pictures: --report FILE.html", "" if plain else "dim")


def _style(case: Case) -> str:
    """Return the style of an answer; a forced wait is as bad as a named cause."""
    return STYLES[CauseSearch.NAMED] if case.forced else STYLES.get(case.attribution.answer, "bold")


def _case(case: Case, plain: bool, title: str, on: DiagramScale, *, first: bool) -> Iterator[RenderableType]:
    if drawn := diagram(case, plain, on):
        yield Group(Text(f"Delay factor and run queue{title}", "" if plain else "bold"), Text(drawn))
    for table in tables.of(case):
        if table.rows:
            yield _grid(table, plain, title, noted=first or table.title in (tables.BARS, tables.DELAYS))


def _grid(table: Table, plain: bool, title: str, *, noted: bool = False) -> RenderableType:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="" if plain else "dim")
    for index, head in enumerate(table.head):
        grid.add_column(head, justify="right" if index in table.numbers else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*row)
    above = Text(table.title + title, "" if plain else "bold")
    return Group(above, grid, Text(table.note)) if noted and table.note else Group(above, grid)
