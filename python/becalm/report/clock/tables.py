"""The tables of an evaluation of timers."""

from __future__ import annotations

from collections.abc import Iterator

from becalm.nouns.timer import ClockReport
from becalm.report.table import Table, explained
from becalm.wording import clock as words
from becalm.wording import clock_reasons


def tables(found: ClockReport) -> Iterator[Table]:
    """For Markdown and the page: what the clock is worth, what each timer can show, what was left out and why."""
    yield from results(found)
    yield from missing(found)


def results(found: ClockReport) -> Iterator[Table]:
    """What the clock is worth, what each timer can show."""
    yield Table("What the clock is worth", ("", ""), tuple(words.trusted(found.trust)))
    if found.cells:
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
            for cell in found.cells
        )
        legend = words.COLUMNS
        note, spare = explained(legend), (8, 9, 3, 10, 2, 7)
        yield Table("Timers", head, rows, tuple(range(2, 11)), note, spare=spare, legend=legend)


def missing(found: ClockReport) -> Iterator[Table]:
    """What was not measured and why: each cell."""
    rows = tuple((each.name, each.said) for each in clock_reasons.reasons(found))
    if rows:
        yield Table("Not measured", ("", "why"), rows)


def grouped(found: ClockReport) -> Iterator[Table]:
    """The same with one row a reason: the cells that it holds for, with what their figures lie between."""
    rows = tuple(clock_reasons.grouped(found))
    if rows:
        yield Table("Not measured", ("", "why"), rows, note=clock_reasons.hints(found))
