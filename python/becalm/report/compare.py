"""The report of `run` and `compare`."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import RenderableType

from becalm.report.table import Table
from becalm.report.terminal import places, sorted_differences, sorted_summaries, verdict
from becalm.results.compare import Difference, Summary, Verdict
from becalm.wording import where as where_words
from becalm.wording.compare import ranks
from becalm.wording.metric import further_cells, per_second, quantity
from becalm.wording.numbers import duration, percent


def on_terminal(result: Verdict, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    return verdict(result, plain=plain)


def tables(result: Verdict) -> Iterator[Table]:
    """Yield the programs, then their order, differences, functions and other metrics."""
    yield from _summaries(result)
    if ranked := places(result):
        order = tuple((ranks(place.best, place.worst), place.name, str(place.rounds)) for place in ranked)
        yield Table("Order", ("rank", "program", "rounds"), order, (0, 2), codes=1)
    if result.differences:
        head = ("program", "reference", "difference", f"{100 * result.confidence:g} % interval", "pairs")
        yield Table("Differences", head, tuple(map(_difference, sorted_differences(result))), (2, 3, 4), codes=0)
    if result.where is not None:
        yield Table(where_words.TITLE, where_words.HEAD, where_words.rows(result.where), (2, 3, 4), codes=0)
    if result.further:
        columns = ("program", "metric", "reference", "mean", "difference", f"{100 * result.confidence:g} % interval")
        rows = tuple((d.name, d.metric, *further_cells(d)) for d in result.further)
        yield Table("Other metrics", columns, rows, (2, 3, 4, 5), codes=0)


def as_html(result: Verdict) -> str:
    """Return the page."""
    from becalm.report.compare_html import page

    return page(result, tuple(tables(result)))


def _summaries(result: Verdict) -> Iterator[Table]:
    summaries = sorted_summaries(result)
    rates = any(summary.throughput for summary in summaries)
    head = (
        "program",
        "runs",
        "mean",
        "median",
        "min",
        "max",
        "spread",
        "CPU time",
        *(("per second",) if rates else ()),
    )
    rows = [
        (
            summary.name,
            str(summary.runs),
            *_times(summary),
            f"{percent(summary.cv.value)} %" if summary.runs > 1 and summary.cv is not None else "",
            ""
            if summary.user_ns is None or summary.system_ns is None
            else duration(summary.user_ns + summary.system_ns),
            *((per_second(summary).removesuffix("/s"),) if rates else ()),
        )
        for summary in summaries
    ]
    times = Table("" if result.metric is None else "Wall time", head, tuple(rows), tuple(range(1, len(head))), codes=0)
    head = ("program", "metric", "better", "mean", "median", "min", "max", "spread")
    rows = [
        (
            summary.name,
            number.name,
            str(number.better),
            *(
                quantity(value, number.unit)
                for value in (number.mean.value, number.median.value, number.minimum, number.maximum)
            ),
            f"{percent(number.cv.value)} %" if number.runs > 1 else "",
        )
        for summary in summaries
        for number in summary.metrics
    ]
    if rows:
        yield Table("", head, tuple(rows), tuple(range(3, len(head))), codes=0)
    if any(summary.mean_ns is not None for summary in summaries) or not rows:
        yield times


def _times(summary: Summary) -> tuple[str, ...]:
    """Return mean, median, shortest and longest wall time; empty where they are unknown."""
    if summary.mean_ns is None or summary.median_ns is None or summary.min_ns is None or summary.max_ns is None:
        return "", "", "", ""
    return tuple(
        duration(ns) for ns in (summary.mean_ns.value, summary.median_ns.value, summary.min_ns, summary.max_ns)
    )


def _difference(d: Difference) -> tuple[str, ...]:
    half = d.half
    known = math.isfinite(half)
    ends = f"{percent(d.low, half, sign=True)} to {percent(d.high, half, sign=True)} %" if known else "not yet known"
    return d.name, d.reference, f"{percent(d.estimate, half if known else None, sign=True)} %", ends, f"{d.pairs:,}"
