"""Several hosts on the terminal: what they say together, a table of the hosts, and what each says by itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from becalm.nouns.multi_host import HostResult, MultiHostVerdict
from becalm.nouns.verdict import Difference, Verdict
from becalm.report.fitted import Fitted
from becalm.report.terminal import findings, style
from becalm.wording import multi_host
from becalm.wording.measurement import duration, percent, short
from becalm.wording.metric import measured

TIMES = 12
"""Characters of a program's name above its times."""


def several(found: MultiHostVerdict, *, plain: bool = False) -> RenderableType:
    """Return the report for the terminal."""
    return Group(*_parts(found, plain))


def _parts(found: MultiHostVerdict, plain: bool) -> Iterator[RenderableType]:
    for line in found.sentence.splitlines():
        yield Text(line, "bold")
    for table in tables(found, plain):
        yield Text()
        # Of a table of differences both times can be spared, and the number of pairs.
        yield Fitted(table, (0,), (5, 1, 2) if found.across else ())
    if found.findings:
        yield Text()
        yield findings(found.findings, plain)
    studies = [str(each.study) for each in found.hosts if each.study is not None]
    if studies:
        yield Text()
        numbers = ", ".join(studies) if len(studies) < 9 else f"{studies[0]} … {studies[-1]}"
        head = "Study" if len(studies) == 1 else "Studies"
        show = f"becalm show {studies[0]}"
        yield Text(f"{head} {numbers}. Each by itself: {show}; together: {show} --together", "dim")


def tables(found: MultiHostVerdict, plain: bool = False) -> Iterator[Table]:
    """Yield the hosts: at each comparison, their times, or the results of settings that were tried on them."""
    for across in found.across:
        yield _differences(found, across.name, across.reference, plain)
    if not found.across and found.times:
        yield _times(found)
    if found.transfer:
        yield _transfer(found)


def transferred(found: MultiHostVerdict, *, plain: bool = False) -> RenderableType:
    """Return for a search the results on other hosts of what the first one recommends."""
    lines = [Text(line, "bold") for line in multi_host.several(found).splitlines()]
    parts: list[RenderableType] = [*lines, Text(), Fitted(_transfer(found), (0, 1))] if found.transfer else [*lines]
    return Group(*parts, *([findings(found.findings, plain)] if found.findings else []))


def _transfer(found: MultiHostVerdict) -> Table:
    table = _table("host", "settings of", "reduction", f"{100 * found.confidence:.4g} % interval")
    for each in found.transfer:
        ratio = each.ratio
        table.add_row(each.row, each.column, f"{ratio.value:.3g}", f"{ratio.low:.3g} to {ratio.high:.3g}")
    return table


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(heads[0], overflow="fold")
    for head in heads[1:]:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _differences(found: MultiHostVerdict, name: str, reference: str, plain: bool) -> Table:
    level = next((f"{100 * each.confidence:.4g} %" for each in _verdicts(found)), "")
    programs = (short([each], TIMES)[0] for each in (reference, name))
    table = _table("host", *programs, "difference", f"{level} interval", "pairs")
    for each in found.hosts:
        verdict = each.verdict
        d = _difference(each, name, reference)
        if d is None or not isinstance(verdict, Verdict):
            table.add_row(each.host, "", "", "lost" if each.lost else "unknown", "", "")
            continue
        shown_of = {s.name: measured(s) for s in verdict.summaries}
        medians = {of: each.shown(each.median.value) for of, each in shown_of.items()}
        half = (d.high - d.low) / 2
        known = math.isfinite(half)
        ends = (
            f"{percent(d.low, half, sign=True)} to {percent(d.high, half, sign=True)} %" if known else "not yet known"
        )
        shown = f"{percent(d.estimate, half if known else None, sign=True)} %"
        colour = None if plain else style(d).removeprefix("bold ")
        cells = [medians.get(reference, ""), medians.get(name, ""), shown, ends, f"{d.pairs:,}"]
        table.add_row(each.host + (" (lost)" if each.lost else ""), *cells, style=colour)
    return table


def _difference(each: HostResult, name: str, reference: str) -> Difference | None:
    if not isinstance(each.verdict, Verdict):
        return None
    return next((d for d in each.verdict.differences if (d.name, d.reference) == (name, reference)), None)


def _verdicts(found: MultiHostVerdict) -> list[Verdict]:
    return [each.verdict for each in found.hosts if isinstance(each.verdict, Verdict)]


def _times(found: MultiHostVerdict) -> Table:
    """Return the table of the program on each host: its times, or its metric with the mean time."""
    beside = [] if not found.metrics else ["wall time"]
    table = _table("host", "mean", "median", "spread", *beside, "runs")
    for each in found.hosts:
        if not isinstance(each.verdict, Verdict) or not each.verdict.summaries:
            table.add_row(each.host, "lost" if each.lost else "unknown", *[""] * (3 + len(beside)))
            continue
        for s in each.verdict.summaries:
            of = measured(s)
            cells = [of.shown(of.mean.value), of.shown(of.median.value), f"{percent(of.cv.value)} %"]
            wall = "" if s.mean_ns is None else duration(s.mean_ns.value)
            table.add_row(each.host, *cells, *[wall] * len(beside), f"{s.runs:,}")
    return table
