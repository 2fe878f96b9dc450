"""GitHub Flavored Markdown: escaped text, and tables (section 4.10 of its specification)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from becalm.report.table import Table
from becalm.wording.printable import encodable, printable


def written(lines: Iterable[str]) -> str:
    """Return lines as a text without the surrogates (PEP 383) of names that are not UTF-8, which no file can hold."""
    return encodable("\n".join(lines) + "\n")


def grid(table: Table, codes: int | None = None) -> Iterator[str]:
    """Yield a table, line by line. `codes`: the column that is set as code."""
    yield _row(table.head)
    yield "| " + " | ".join("---:" if index in table.numbers else "---" for index in range(len(table.head))) + " |"
    for row in table.rows:
        yield _row(row, codes)


def _row(cells: tuple[str, ...], codes: int | None = None) -> str:
    formatted = (code(cell) if index == codes and cell.strip() else escaped(cell) for index, cell in enumerate(cells))
    return "| " + " | ".join(formatted) + " |"


def escaped(text: str) -> str:
    """Return text without markup; names of programs may contain anything."""
    return re.sub(r"([\\`*_\[\]<>|#~&])", r"\\\1", printable(" ".join(text.split())))


def code(text: str) -> str:
    """Return a command in backticks, for a cell of a table."""
    return "`" + printable(" ".join(text.split())).replace("|", "\\|").replace("`", "'") + "`"
