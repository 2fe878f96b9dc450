"""A fragment of a page for a notebook: sentence, plots, tables, findings.

Text from elsewhere is escaped. Text and lines have the colour of the notebook's text, light or dark.
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
"""The number of columns of a report that is shown as on a terminal."""


def fragment(result: Any) -> str:
    """Return the fragment for a value with a `sentence`."""
    text = "".join(_parts(result))
    return text.encode("utf-8", "replace").decode("utf-8")


def _parts(result: Any) -> Iterator[str]:
    yield f'<div class="becalm" style="{STYLE}">'
    for index, line in enumerate(result.sentence.splitlines()):
        yield f"<p><strong>{_text(line)}</strong></p>" if index == 0 else f"<p>{_text(line)}</p>"
    if isinstance(result, Verdict):
        yield from _pictures(result)
    yield from _tables(result)
    if findings := getattr(result, "findings", ()):
        yield "<ul>" + "".join(f"<li>{_text(finding.sentence)}</li>" for finding in findings) + "</ul>"
    yield "</div>"


def _tables(result: Any) -> Iterator[str]:
    """Yield the tables of a report, or its terminal form where it has no tables; nothing without a report."""
    if not has_report(result):
        return
    module = report_of(result)
    if hasattr(module, "tables"):
        for table in module.tables(result):
            yield from _table(table)
        return
    screen = Console(file=io.StringIO(), width=WIDTH, markup=False, emoji=False, highlight=False, no_color=True)
    screen.print(module.on_terminal(result, plain=True, columns=WIDTH))
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
