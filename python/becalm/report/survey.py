"""The report of a survey: the machines that stand out, and each machine compared with its peers."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from becalm.report.forms import listed
from becalm.report.table import Table as Cells
from becalm.report.table_width import Fitted
from becalm.report.terminal import findings
from becalm.results.survey import SurveyResult, SurveyRow
from becalm.wording.numbers import duration, percent

MOST_ROWS = 40
"""The number of machines that the terminal lists one by one; the JSON has all."""


def on_terminal(result: SurveyResult, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    return Group(*_parts(result, plain))


def tables(result: SurveyResult) -> Iterator[Cells]:
    """Yield the peers, then every machine."""
    yield listed(_peers(result))
    if result.rows:
        yield listed(_machines(list(result.rows), set(), True))


def _parts(result: SurveyResult, plain: bool) -> Iterator[RenderableType]:
    for line in result.sentence.splitlines():
        yield Text(line, "bold")
    yield Text()
    yield Fitted(_peers(result), (0, 1), (5,))
    odd = {outlier.host for outlier in result.named}
    rows = [row for row in result.rows if row.host in odd] if len(result.rows) > MOST_ROWS else list(result.rows)
    if rows:
        yield Text()
        yield Fitted(_machines(rows, odd, plain), (0, 1), (5, 6, 2))
    if len(rows) < len(result.rows):
        yield Text(f"and {len(result.rows) - len(rows):,} more lines: becalm survey --json", "dim")
    if result.findings:
        yield Text()
        yield findings(result.findings, plain)
    for host, why in result.lost.items():
        yield Text(f"{host}: {why}", "yellow")


def _peers(result: SurveyResult) -> Table:
    """Return the table of the peers: machines with one processor at one piece of work."""
    kinds = _columns("processor", "work", "machines", "time", "spread", "differ by nature")
    for kind in result.kinds:
        between = "" if kind.between is None else f"{percent(kind.between)} %"
        cells = [f"{kind.machines:,}", duration(kind.time_ns), f"{percent(kind.spread)} %", between]
        kinds.add_row(kind.kind, kind.work, *cells)
    return kinds


def _columns(*heads: str) -> Table:
    """Return a table whose first column takes the room that the others leave."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, head in enumerate(heads):
        table.add_column(head, justify="left" if index < 2 else "right", overflow="fold", no_wrap=index >= 2)
    table.columns[0].min_width, table.columns[1].min_width = 13, 9
    return table


def _machines(rows: list[SurveyRow], odd: set[str], plain: bool) -> Table:
    table = _columns("machine", "work", "time", "against peers", "interval", "spread", "times peers'")
    for row in rows:
        half = (row.slower.high - row.slower.low) / 2
        table.add_row(
            row.host,
            row.work,
            duration(row.time_ns),
            f"{percent(row.slower.value, half, sign=True)} %",
            f"{percent(row.slower.low, half, sign=True)} … {percent(row.slower.high, half, sign=True)}",
            f"{percent(row.spread)} %",
            f"{row.noisier.value:.2g}",
            style="red" if row.host in odd and not plain else None,
        )
    return table
