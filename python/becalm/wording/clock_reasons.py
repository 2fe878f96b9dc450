"""The reasons why timers have no result: cell by cell for a report, one line per reason for a terminal.

Reasons are the engine's sentences (crates/becalm-core/src/clock/search/mod.rs). Those that differ only in their numbers
are one reason, reported with the range of each number.

Public: Reason, reasons, grouped, hints, merged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from becalm.results.clock import ClockReport, TimerCell
from becalm.wording.clock import share
from becalm.wording.numbers import counted

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")

HINTS = (
    (
        "noise:",
        "noise: other load on the machine or its processor disturbs more than the timer itself. An idle machine or "
        "another processor (--cpu) helps.",
    ),
    (
        "two lengths overlap",
        "They overlap: more than 5 % of the longer work's measurements are not above the largest of the shorter "
        "work's.",
    ),
    ("budget:", "budget: more time helps (--budget 15min), or fewer cells (--timer, --flush)."),
)
"""Phrases in reasons that call for a hint, with the hint."""


class Reason(msgspec.Struct, frozen=True):
    """The reason why a cell has no figure.

    `figure`: "t_min", "t_diff", or empty for a timer, a flush or a cell that was left out. `cell`: None for what was
    left out; `name` then names it."""

    figure: str
    name: str
    text: str
    cell: TimerCell | None = None

    @property
    def full_text(self) -> str:
        """The reason in full, for this cell only."""
        figure = "t_diff: " if self.figure == "t_diff" else ""
        return f"{figure}{self.text}{_steadiness([self])}"


def reasons(report: ClockReport) -> list[Reason]:
    """Return the reasons of every cell, followed by those of timers, flushes and cells that were left out."""
    result = []
    for cell in report.cells:
        name = f"{cell.timer}, {cell.flush}"
        if cell.no_t_min is not None:
            result.append(Reason("t_min", name, cell.no_t_min, cell))
        elif cell.no_t_diff:
            result.append(Reason("t_diff", name, cell.no_t_diff, cell))
    left_out = (
        (", ".join(filter(None, (absence.timer, absence.flush))), absence.reason) for absence in report.absences
    )
    return [*result, *(Reason("", name, text) for name, text in left_out)]


def grouped(report: ClockReport) -> Iterator[tuple[str, str]]:
    """Yield each reason with the number of its cells, then the text of the reason with the names of the cells."""
    alike: dict[tuple[str, str], list[Reason]] = {}
    for reason in reasons(report):
        alike.setdefault((reason.figure, _NUMBER.sub("#", reason.text)), []).append(reason)
    for (figure, _), mine in alike.items():
        text = f"{merged([reason.text for reason in mine])}{_steadiness(mine)}"
        if figure:
            yield f"{figure} of {counted(len(mine), 'cell')}", f"{text}\n{_cells(mine, report)}"
        elif len(mine) == 1:
            yield mine[0].name, text
        else:
            yield f"{len(mine)} left out", f"{text}\n{'; '.join(reason.name for reason in mine)}"


def hints(report: ClockReport) -> str:
    """Return the hints that explain the reasons of a report and name a remedy."""
    texts = [reason.text for reason in reasons(report)]
    return " ".join(hint for word, hint in HINTS if any(word in text for text in texts))


def merged(texts: Sequence[str]) -> str:
    """Return one sentence for several that differ only in their numbers, with the range of each number.

    Raises ValueError for sentences that differ in more.
    """
    between = _NUMBER.split(texts[0])
    if any(_NUMBER.split(text) != between for text in texts):
        raise ValueError("These sentences differ in more than their numbers.")
    numbers = [_range(column) for column in zip(*map(_NUMBER.findall, texts), strict=True)]
    return "".join(word for pair in zip(between, [*numbers, ""], strict=True) for word in pair)


def _range(numbers: Sequence[str]) -> str:
    low, high = (chosen(numbers, key=_value) for chosen in (min, max))
    return low if _value(low) == _value(high) else f"{low} to {high}"


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _steadiness(mine: Sequence[Reason]) -> str:
    """Return how much cells without t_min vary nevertheless; empty where that is unknown."""
    cells = [reason.cell for reason in mine if reason.cell is not None and reason.figure == "t_min"]
    if not cells:
        return ""
    verb = "it varies" if len(cells) == 1 else "they vary"
    return ". " + merged(
        [f"At {cell.reference_additions} additions {verb} by {share(cell.cleaned_variation)}" for cell in cells]
    )


def _cells(mine: Sequence[Reason], report: ClockReport) -> str:
    """Return the names of the cells: timers by flush, flushes with the same timers together."""
    flushes: dict[str, list[str]] = {}
    for reason in mine:
        if reason.cell is not None:
            flushes.setdefault(reason.cell.flush, []).append(reason.cell.timer)
    together: dict[tuple[str, ...], list[str]] = {}
    for flush, timers in flushes.items():
        all_ = [cell.timer for cell in report.cells if cell.flush == flush]
        named = ("all timers",) if len(all_) > 1 and timers == all_ else tuple(timers)
        together.setdefault(named, []).append(flush)
    return "; ".join(f"{', '.join(names)}: {', '.join(timers)}" for timers, names in together.items())
