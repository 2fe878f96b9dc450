"""The tables of an evaluation of timers."""

from __future__ import annotations

from collections.abc import Iterator

from becalm.report.table import Table, explained
from becalm.results.clock import ClockReport
from becalm.wording import clock as words
from becalm.wording import clock_reasons


def tables(report: ClockReport) -> Iterator[Table]:
    """Yield the tables for Markdown and the page: trust, the results of each timer, and missing ones with reasons."""
    yield from results(report)
    yield from missing(report)


def results(report: ClockReport) -> Iterator[Table]:
    """Yield the tables of trust in the clock and of the results of each timer."""
    yield Table("Trust in the clock", ("", ""), tuple(words.trusted(report.trust)))
    if report.cells:
        head = ("timer", "from", "cost", "step", "t_min", "CV", "t_diff", "null", "raw", "removed", "sets")
        rows = tuple(
            (
                cell.timer,
                cell.flush,
                words.amount(cell.median_cost, cell.unit),
                words.amount(cell.quantum, cell.unit),
                words.shortest(cell),
                words.variation(cell),
                words.smallest_difference(cell),
                words.null(cell),
                words.share(cell.raw_variation),
                words.share(cell.removed),
                words.reading(cell),
            )
            for cell in report.cells
        )
        legend = words.COLUMNS
        note, spare = explained(legend), (8, 9, 3, 10, 2, 7)
        yield Table("Timers", head, rows, tuple(range(2, 11)), note, spare=spare, legend=legend)


def missing(report: ClockReport) -> Iterator[Table]:
    """Yield the table of cells that were not measured, with the reasons."""
    rows = tuple((reason.name, reason.full_text) for reason in clock_reasons.reasons(report))
    if rows:
        yield Table("Not measured", ("", "why"), rows)


def grouped(report: ClockReport) -> Iterator[Table]:
    """Yield the table of missing cells with one row per reason: its cells, with the range of their figures."""
    rows = tuple(clock_reasons.grouped(report))
    if rows:
        yield Table("Not measured", ("", "why"), rows, note=clock_reasons.hints(report))
