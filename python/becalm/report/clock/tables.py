"""The tables of an evaluation of timers."""

from __future__ import annotations

from collections.abc import Iterator

from becalm.nouns.timer import ClockReport
from becalm.report.table import Table
from becalm.wording import clock as words


def tables(found: ClockReport) -> Iterator[Table]:
    """What the clock is worth, what each timer can show, what was left out and why."""
    yield Table("What the clock is worth", ("", ""), tuple(words.trusted(found.trust)))
    if found.cells:
        head = ("timer", "from", "cost", "step", "t_min", "t_diff", "raw", "cleaned", "removed", "sets")
        rows = tuple(
            (
                cell.timer,
                cell.flush,
                words.amount(cell.median_cost, cell.unit),
                words.amount(cell.quantum, cell.unit),
                words.shortest(cell),
                words.smallest_difference(cell),
                words.share(cell.raw_variation),
                words.share(cell.cleaned_variation),
                words.share(cell.removed),
                words.reading(cell),
            )
            for cell in found.cells
        )
        note = (
            "t_min: the shortest work that varies by less than 1 %; *: that of the counter's step, so no timer that "
            "reads it can do better. t_diff: the smallest difference seen from there on. raw, cleaned: coefficient of "
            "variation at t_min. sets: measurements of a set × searches."
        )
        yield Table("Timers", head, rows, tuple(range(2, 10)), note, spare=(9, 8, 6, 3, 7, 2))
    reasons = [(f"{cell.timer}, {cell.flush}", words.why_not(cell)) for cell in found.cells]
    reasons += [(", ".join(filter(None, (each.timer, each.flush))), each.reason) for each in found.absences]
    if any(reason for _, reason in reasons):
        yield Table("Not measured", ("", "why"), tuple(row for row in reasons if row[1]))
