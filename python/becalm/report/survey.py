"""The report of a survey: which machines stand out, and how each compares with its peers."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from becalm.nouns.survey import Row, SurveyResult
from becalm.report.drawn import listed
from becalm.report.fitted import Fitted
from becalm.report.table import Table as Cells
from becalm.report.terminal import findings
from becalm.wording.measurement import duration, percent

MOST_ROWS = 40
"""Machines that the terminal lists one by one; more are in the JSON."""


def on_terminal(found: SurveyResult, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    return Group(*_parts(found, plain))


def tables(found: SurveyResult) -> Iterator[Cells]:
    """Yield the peers, then every machine."""
    yield listed(_peers(found))
    if found.rows:
        yield listed(_machines(list(found.rows), set(), True))


def _parts(found: SurveyResult, plain: bool) -> Iterator[RenderableType]:
    for line in found.sentence.splitlines():
        yield Text(line, "bold")
    yield Text()
    yield Fitted(_peers(found), (0, 1), (5,))
    odd = {each.host for each in found.named}
    shown = [row for row in found.rows if row.host in odd] if len(found.rows) > MOST_ROWS else list(found.rows)
    if shown:
        yield Text()
        yield Fitted(_machines(shown, odd, plain), (0, 1), (5, 6, 2))
    if len(shown) < len(found.rows):
        yield Text(f"and {len(found.rows) - len(shown):,} more lines: becalm survey --json", "dim")
    if found.findings:
        yield Text()
        yield findings(found.findings, plain)
    for host, why in found.lost.items():
        yield Text(f"{host}: {why}", "yellow")


def _peers(found: SurveyResult) -> Table:
    """Return the table of machines of one processor at one piece of work."""
    kinds = _columns("processor", "work", "machines", "time", "spread", "differ by nature")
    for kind in found.kinds:
        between = "" if kind.between is None else f"{percent(kind.between)} %"
        cells = [f"{kind.machines:,}", duration(kind.time_ns), f"{percent(kind.spread)} %", between]
        kinds.add_row(kind.kind, kind.work, *cells)
    return kinds


def _columns(*heads: str) -> Table:
    """Return a table whose first column takes what the others leave."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, head in enumerate(heads):
        made.add_column(head, justify="left" if index < 2 else "right", overflow="fold", no_wrap=index >= 2)
    made.columns[0].min_width, made.columns[1].min_width = 13, 9
    return made


def _machines(rows: list[Row], odd: set[str], plain: bool) -> Table:
    made = _columns("machine", "work", "time", "against peers", "interval", "spread", "times peers'")
    for row in rows:
        half = (row.slower.high - row.slower.low) / 2
        made.add_row(
            row.host,
            row.work,
            duration(row.time_ns),
            f"{percent(row.slower.value, half, sign=True)} %",
            f"{percent(row.slower.low, half, sign=True)} … {percent(row.slower.high, half, sign=True)}",
            f"{percent(row.spread)} %",
            f"{row.noisier.value:.2g}",
            style="red" if row.host in odd and not plain else None,
        )
    return made
