"""The wording of a survey, and how it looks on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from becalm.report.sentence import counted, duration, listed, percent
from becalm.report.terminal import findings

if TYPE_CHECKING:
    from becalm.survey import Named, Row, Surveyed

MOST_ROWS = 40
"""Machines that the terminal lists one by one; more are in the JSON."""


def named(found: Named) -> str:
    """One machine that is beyond its peers."""
    low, high = found.size.low, found.size.high
    than = f"than its {counted(found.peers, 'peer')} at {found.work}"
    if found.how == "slower":
        half = (high - low) / 2
        ends = f"{percent(low, half)} to {percent(high, half)} %"
        return f"{found.host} is {percent(found.size.value, half)} % slower ({ends}) {than}."
    return (
        f"{found.host} varies {found.size.value:.2g} times as much ({low:.2g} to {high:.2g}) "
        f"as its {counted(found.peers, 'peer')} at {found.work}."
    )


def busy(host: str, share: float) -> str:
    """Something else ran on a machine while it was surveyed."""
    return (
        f"{host} was not idle: the work waited {percent(share)} % of its time for a CPU. What is said of it is said of "
        "its load, too."
    )


def few(kind: str, count: int, least: int) -> str:
    """Too few machines of a kind."""
    return (
        f"{kind}: {counted(count, 'machine')} of that kind {'is' if count == 1 else 'are'} too few to tell an odd one "
        f"from usual differences; it takes {least}. They are listed, and none of them is named."
    )


def surveyed(found: Surveyed) -> str:
    """The whole in words, one line a statement."""
    judged = {row.host for row in found.rows if row.slower_q is not None}
    lines = [each.sentence for each in found.named]
    share = percent(found.rate, 0.1)
    if judged:
        odd = len({each.host for each in found.named})
        rest = f"at most {share} % of such statements are wrong on average" if found.named else "none is odd"
        lines.append(f"{odd} of {counted(len(judged), 'machine')} named as slower or noisier than their peers; {rest}.")
    if found.lost:
        lines.append(f"{counted(len(found.lost), 'machine')} gave nothing: {listed(found.lost)}.")
    if not judged:
        hosts = {row.host for row in found.rows}
        lines.insert(0, f"{counted(len(hosts), 'machine')} measured, too few of a kind to name an odd one.")
    return "\n".join(lines)


def table(found: Surveyed, *, plain: bool = False) -> RenderableType:
    """Everything a person sees at the end of a survey."""
    return Group(*_parts(found, plain))


def _parts(found: Surveyed, plain: bool) -> Iterator[RenderableType]:
    for line in found.sentence.splitlines():
        yield Text(line, "bold")
    yield Text()
    kinds = _columns("processor", "work", "machines", "time", "spread", "differ by nature")
    for kind in found.kinds:
        between = "" if kind.between is None else f"{percent(kind.between)} %"
        cells = [f"{kind.machines:,}", duration(kind.time_ns), f"{percent(kind.spread)} %", between]
        kinds.add_row(kind.kind, kind.work, *cells)
    yield kinds
    odd = {each.host for each in found.named}
    shown = [row for row in found.rows if row.host in odd] if len(found.rows) > MOST_ROWS else list(found.rows)
    if shown:
        yield Text()
        yield _machines(shown, odd, plain)
    if len(shown) < len(found.rows):
        yield Text(f"and {len(found.rows) - len(shown):,} more lines: becalm survey --json", "dim")
    if found.findings:
        yield Text()
        yield findings(found.findings, plain)
    for host, why in found.lost.items():
        yield Text(f"{host}: {why}", "yellow")


def _columns(*heads: str) -> Table:
    """The first column takes what the others leave."""
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
