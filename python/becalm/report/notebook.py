"""A fragment of a page for a notebook: sentence, pictures, tables, findings.

Everything from elsewhere is escaped. Colours are the notebook's own: text and lines take its ink, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from becalm.nouns.verdict import Verdict
from becalm.report.drawn import home
from becalm.report.table import Table
from becalm.wording.printable import printable

STYLE = (
    "--ink: currentColor; --faint: #8886; --quiet: #888; --before: #c0661a; --after: #16917e; --other: #6a80d0; "
    "--alarm: #d0413a; max-width: 60rem"
)


def fragment(found: Any) -> str:
    """The fragment."""
    text = "".join(_parts(found))
    return text.encode("utf-8", "replace").decode("utf-8")


def _parts(found: Any) -> Iterator[str]:
    yield f'<div class="becalm" style="{STYLE}">'
    for index, line in enumerate(found.sentence.splitlines()):
        yield f"<p><strong>{_text(line)}</strong></p>" if index == 0 else f"<p>{_text(line)}</p>"
    if isinstance(found, Verdict):
        yield from _pictures(found)
    for table in home(found).tables(found):
        yield from _table(table)
    if findings := getattr(found, "findings", ()):
        yield "<ul>" + "".join(f"<li>{_text(each.sentence)}</li>" for each in findings) + "</ul>"
    yield "</div>"


def _pictures(found: Verdict) -> Iterator[str]:
    from becalm.report import measured_figures as figures

    yield from (picture for picture in (figures.ratios(found.differences), figures.violins(found)) if picture)


def _table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"<h4>{_text(table.title)}</h4>"
    yield "<table><thead><tr>" + "".join(f"<th>{_text(cell)}</th>" for cell in table.head) + "</tr></thead><tbody>"
    for row in table.rows:
        cells = (
            f'<td style="text-align: {"right" if index in table.numbers else "left"}">{_text(cell)}</td>'
            for index, cell in enumerate(row)
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table>"
    if table.note:
        yield f"<p><small>{_text(table.note)}</small></p>"


def _text(text: str) -> str:
    return escape(printable(text))
