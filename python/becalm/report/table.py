"""A table of a report as text in cells, the same for the terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Collection

from becalm.values import dataclass

Legend = tuple[tuple[str, str], ...]
"""Columns by their heads, and a sentence or a part of one for each; "" stands for what holds for all of them."""


@dataclass(frozen=True, slots=True)
class Table:
    """`numbers`: the columns that are aligned to the right. `note`: what the columns mean, for whoever asks. `codes`: a
    column of commands. `spare`: columns that a narrow terminal leaves out, the first one first. `legend`: the note
    column by column, so that such a terminal explains what it shows. `names`: columns that it cuts, so that numbers
    stay whole; without them the first one, where there are columns to spare."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    note: str = ""
    codes: int | None = None
    spare: tuple[int, ...] = ()
    legend: Legend = ()
    names: tuple[int, ...] = ()
    links: Legend = ()


def explained(legend: Legend, shown: Collection[str] | None = None) -> str:
    """Return a legend as a note; `shown`: the heads of the present columns, None: all."""
    said = [text for head, text in legend if not head or shown is None or head in shown]
    return " ".join(said)
