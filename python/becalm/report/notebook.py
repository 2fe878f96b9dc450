"""A fragment of a page for a notebook: sentence, pictures, tables, findings.

Everything from elsewhere is escaped. Colours are the notebook's own: text and lines take its ink, light or dark.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from html import escape
from typing import Any

from rich.console import Console

from becalm.report import has_report, report_of
from becalm.report.table import Table
from becalm.results.compare import Verdict
from becalm.wording.printable import printable

STYLE = (
    "--ink: currentColor; --faint: #8886; --quiet: #888; --before: #c0661a; --after: #16917e; --other: #6a80d0; "
    "--alarm: #d0413a; max-width: 60rem"
)


WIDTH = 100
"""Columns of what is shown as on a terminal."""


def fragment(found: Any) -> str:
    """Return the fragment of a value with a `sentence`."""
    text = "".join(_parts(found))
    return text.encode("utf-8", "replace").decode("utf-8")


def _parts(found: Any) -> Iterator[str]:
    yield f'<div class="becalm" style="{STYLE}">'
    for index, line in enumerate(found.sentence.splitlines()):
        yield f"<p><strong>{_text(line)}</strong></p>" if index == 0 else f"<p>{_text(line)}</p>"
    if isinstance(found, Verdict):
        yield from _pictures(found)
    yield from _tables(found)
    if findings := getattr(found, "findings", ()):
        yield "<ul>" + "".join(f"<li>{_text(finding.sentence)}</li>" for finding in findings) + "</ul>"
    yield "</div>"


def _tables(found: Any) -> Iterator[str]:
    """Yield the tables of its report; of one without tables, what the terminal shows; else nothing."""
    if not has_report(found):
        return
    module = report_of(found)
    if hasattr(module, "tables"):
        for table in module.tables(found):
            yield from _table(table)
        return
    screen = Console(file=io.StringIO(), width=WIDTH, markup=False, emoji=False, highlight=False, no_color=True)
    screen.print(module.on_terminal(found, plain=True, columns=WIDTH))
    yield f"<pre>{_text(screen.file.getvalue())}</pre>"  # type: ignore[attr-defined]


def _pictures(verdict: Verdict) -> Iterator[str]:
    from becalm.report import compare_figures as figures

    yield from (picture for picture in (figures.ratios(verdict.differences), figures.violins(verdict)) if picture)


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
