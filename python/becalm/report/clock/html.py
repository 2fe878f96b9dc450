"""An evaluation of timers as a self-contained HTML page."""

from __future__ import annotations

from becalm.report.clock import figures, tables
from becalm.report.page import Part, Picture, filled
from becalm.results.clock import ClockReport
from becalm.wording import clock as words


def page(report: ClockReport) -> str:
    """Return the page."""
    title, *lines = report.sentence.splitlines()
    flushes = tuple(dict.fromkeys(cell.flush for cell in report.cells))
    parts = [Part(table.title, table=table) for table in tables.tables(report)]
    parts[1:1] = [part for flush in flushes if (part := _part(report, flush)).pictures]
    return filled(
        "parts.html",
        title=title,
        lines=lines,
        parts=parts,
        findings=(),
        facts=words.facts(report.host, report.trust),
    )


def _part(report: ClockReport, flush: str) -> Part:
    cells = [cell for cell in report.cells if cell.flush == flush]
    panels = "".join(figures.distribution(cell) for cell in cells)
    pictures = (Picture(figures.exceeded(cells), words.EXCEEDED), Picture(panels, words.DISTRIBUTIONS))
    return Part(words.place(flush), tuple(picture for picture in pictures if picture.svg))
