"""The writer of comma-separated values (RFC 4180) that a spreadsheet reads as plain values.

Spreadsheets take a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return for a formula, which can read
other files and start programs (OWASP, "CSV Injection"). Names of programs come from elsewhere: such a cell that is not
a number gets an apostrophe in front, which spreadsheets do not show, and control characters are written out. `raw`
leaves all cells as they are, for readers that are not spreadsheets.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import TextIO

from becalm.line import Line

Cell = str | int | float | None
"""A value of a table; None is an empty cell."""

MARK = "'"
"""The prefix of a text that would be a formula."""

FORMULA = "=+-@\uff1d\uff0b\uff0d\uff20"
"""Signs that begin formulas, also in their full width."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def write_rows(file: TextIO, rows: Iterable[Iterable[Cell]], *, raw: bool = False, end: str = "\n") -> None:
    """Write rows of cells to a file that was opened with `newline=""`."""
    csv.writer(file, lineterminator=end).writerows(rows if raw else map(_harmless, rows))


def table_text(rows: Iterable[Iterable[Cell]], *, raw: bool = False) -> str:
    """Return rows of cells as the text of a file."""
    out = io.StringIO(newline="")
    write_rows(out, rows, raw=raw)
    return out.getvalue()


def _harmless(row: Iterable[Cell]) -> list[Line | int | float | None]:
    return [harmless(cell) if isinstance(cell, str) else cell for cell in row]


def harmless(text: str) -> Line:
    """Return a text as a cell that spreadsheets do not read as a formula."""
    begins = text.lstrip()[:1] or "-"
    dangerous = (begins in FORMULA or text[:1] in "\t\r") and text.strip() != "" and not _NUMBER.fullmatch(text)
    return Line.escape(f"{MARK}{text}" if dangerous else text)


def original_text(cell: str) -> str:
    """Return the text of a cell that `harmless` wrote, but for control characters."""
    return cell[1:] if cell.startswith(MARK) and cell[1:].lstrip()[:1] in tuple(FORMULA) else cell
