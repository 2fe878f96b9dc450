"""A table of a report as text in cells, common to the terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

Legend = tuple[tuple[str, str], ...]
"""Pairs of a column's head and a sentence about it; the sentence of "" is about all columns."""


class Table(msgspec.Struct, frozen=True):
    """A table of a report.

    - `numbers`: the columns that are aligned to the right.
    - `note`: the explanation of the columns.
    - `codes`: a column of commands.
    - `spare`: columns that a narrow terminal leaves out, in this order.
    - `legend`: the note by column; a narrow terminal prints it only for the columns that it shows.
    - `names`: columns that a narrow terminal cuts, so that numbers stay whole [default: the first one, if there are
      columns to spare].
    """

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


def explained(legend: Legend, heads: Collection[str] | None = None) -> str:
    """Return a legend as a note; `heads`: the heads of the present columns, None for all."""
    return " ".join(text for head, text in legend if not head or heads is None or head in heads)
