"""Several hosts on the terminal: their common results, then a table of the hosts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from becalm.report.table_width import Fitted
from becalm.report.terminal import findings, style
from becalm.results.compare import Difference, Verdict
from becalm.results.multi_host import HostResult, MultiHostVerdict
from becalm.wording import multi_host
from becalm.wording.metric import measured
from becalm.wording.numbers import duration, percent
from becalm.wording.short_names import short

TIMES = 12
"""The number of characters of a program's name above its times."""


def several(verdict: MultiHostVerdict, *, plain: bool = False) -> RenderableType:
    """Return the report for the terminal."""
    return Group(*_parts(verdict, plain))


def _parts(verdict: MultiHostVerdict, plain: bool) -> Iterator[RenderableType]:
    for line in verdict.sentence.splitlines():
        yield Text(line, "bold")
    for table in tables(verdict, plain):
        yield Text()
        # In a table of differences, both times and the number of pairs can be spared.
        yield Fitted(table, (0,), (5, 1, 2) if verdict.across else ())
    if verdict.findings:
        yield Text()
        yield findings(verdict.findings, plain)
    studies = [str(host.study) for host in verdict.hosts if host.study is not None]
    if studies:
        yield Text()
        numbers = ", ".join(studies) if len(studies) < 9 else f"{studies[0]} … {studies[-1]}"
        head = "Study" if len(studies) == 1 else "Studies"
        show = f"becalm show {studies[0]}"
        yield Text(f"{head} {numbers}. Each by itself: {show}; together: {show} --together", "dim")


def tables(verdict: MultiHostVerdict, plain: bool = False) -> Iterator[Table]:
    """Yield the table of hosts for each comparison, of their times, or of settings that were tried on them."""
    for across in verdict.across:
        yield _differences(verdict, across.name, across.reference, plain)
    if not verdict.across and verdict.times:
        yield _times(verdict)
    if verdict.transfer:
        yield _transfer(verdict)


def transferred(verdict: MultiHostVerdict, *, plain: bool = False) -> RenderableType:
    """Return the results on other hosts of the settings that a search on the first host recommends."""
    lines = [Text(line, "bold") for line in multi_host.several(verdict).splitlines()]
    parts: list[RenderableType] = [*lines, Text(), Fitted(_transfer(verdict), (0, 1))] if verdict.transfer else [*lines]
    return Group(*parts, *([findings(verdict.findings, plain)] if verdict.findings else []))


def _transfer(verdict: MultiHostVerdict) -> Table:
    table = _table("host", "settings of", "reduction", f"{100 * verdict.confidence:.4g} % interval")
    for transfer in verdict.transfer:
        ratio = transfer.ratio
        table.add_row(transfer.row, transfer.column, f"{ratio.value:.3g}", f"{ratio.low:.3g} to {ratio.high:.3g}")
    return table


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(heads[0], overflow="fold")
    for head in heads[1:]:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _differences(multi_host_verdict: MultiHostVerdict, name: str, reference: str, plain: bool) -> Table:
    level = next((f"{100 * verdict.confidence:.4g} %" for verdict in _verdicts(multi_host_verdict)), "")
    programs = (short([program], TIMES)[0] for program in (reference, name))
    table = _table("host", *programs, "difference", f"{level} interval", "pairs")
    for host in multi_host_verdict.hosts:
        verdict = host.verdict
        d = _difference(host, name, reference)
        if d is None or not isinstance(verdict, Verdict):
            table.add_row(host.host, "", "", "lost" if host.lost else "unknown", "", "")
            continue
        values = {summary.name: measured(summary) for summary in verdict.summaries}
        medians = {program: value.shown(value.median.value) for program, value in values.items()}
        half = (d.high - d.low) / 2
        known = math.isfinite(half)
        ends = (
            f"{percent(d.low, half, sign=True)} to {percent(d.high, half, sign=True)} %" if known else "not yet known"
        )
        estimate = f"{percent(d.estimate, half if known else None, sign=True)} %"
        colour = None if plain else style(d).removeprefix("bold ")
        cells = [medians.get(reference, ""), medians.get(name, ""), estimate, ends, f"{d.pairs:,}"]
        table.add_row(host.host + (" (lost)" if host.lost else ""), *cells, style=colour)
    return table


def _difference(result: HostResult, name: str, reference: str) -> Difference | None:
    if not isinstance(result.verdict, Verdict):
        return None
    return next((d for d in result.verdict.differences if (d.name, d.reference) == (name, reference)), None)


def _verdicts(verdict: MultiHostVerdict) -> list[Verdict]:
    return [host.verdict for host in verdict.hosts if isinstance(host.verdict, Verdict)]


def _times(verdict: MultiHostVerdict) -> Table:
    """Return the table of a program on each host: its times, or its metric with the mean time."""
    alongside = [] if not verdict.metrics else ["wall time"]
    table = _table("host", "mean", "median", "spread", *alongside, "runs")
    for host in verdict.hosts:
        if not isinstance(host.verdict, Verdict) or not host.verdict.summaries:
            table.add_row(host.host, "lost" if host.lost else "unknown", *[""] * (3 + len(alongside)))
            continue
        for s in host.verdict.summaries:
            values = measured(s)
            mean, median = values.shown(values.mean.value), values.shown(values.median.value)
            cells = [mean, median, f"{percent(values.cv.value)} %"]
            wall = "" if s.mean_ns is None else duration(s.mean_ns.value)
            table.add_row(host.host, *cells, *[wall] * len(alongside), f"{s.runs:,}")
    return table
