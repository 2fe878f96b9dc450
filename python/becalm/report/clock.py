"""The report of `becalm clock`: trust first, which timer for what, then a table."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.nouns.timer import ClockReport
from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.report.terminal import apart
from becalm.wording import clock as words


def on_terminal(found: ClockReport, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Everything a person sees."""
    first, *rest = found.sentence.splitlines()
    parts: list[RenderableType] = [Group(Text(first, "" if plain else "bold"), *map(Text, rest))]
    parts += [grid(each, plain) for each in tables(found)]
    return apart(parts)


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
                words.length(cell.t_min),
                words.smallest_difference(cell),
                words.share(cell.raw_variation),
                words.share(cell.cleaned_variation),
                words.share(cell.removed),
                words.reading(cell),
            )
            for cell in found.cells
        )
        note = (
            "t_min: the shortest work that varies by less than 1 %. t_diff: the smallest difference seen from there "
            "on. raw, cleaned: coefficient of variation at t_min. sets: measurements of a set × searches."
        )
        yield Table("Timers", head, rows, tuple(range(2, 10)), note, spare=(9, 8, 6, 3))
    reasons = [(f"{cell.timer}, {cell.flush}", cell.no_t_min or cell.no_t_diff or "") for cell in found.cells]
    reasons += [(each.timer or each.flush or "", each.reason) for each in found.absences]
    if any(reason for _, reason in reasons):
        yield Table("Not measured", ("", "why"), tuple(row for row in reasons if row[1]))
