"""A table of a report as text in cells, the same for the terminal, Markdown and HTML."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """`numbers`: the columns that are aligned to the right. `note`: what the columns mean, for whoever asks. `codes`: a
    column of commands. `spare`: columns that a narrow terminal leaves out, the first one first."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    note: str = ""
    codes: int | None = None
    spare: tuple[int, ...] = ()
