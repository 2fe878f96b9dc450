"""An explanation as Markdown, for an issue or a paper's appendix."""

from __future__ import annotations

from collections.abc import Iterator

from becalm.load.explanation import Explanation
from becalm.report.explain import tables
from becalm.report.markdown import escaped, grid, written


def write(found: Explanation) -> str:
    """Return the whole report."""
    return written(_lines(found))


def _lines(found: Explanation) -> Iterator[str]:
    for line in found.sentence.splitlines():
        yield from (f"**{escaped(line)}**", "")
    for case, table in tables.every(found):
        title = f": {case.program} on {case.machine}" if case is not None and len(found.cases) > 1 else ""
        yield from (f"## {escaped(table.title + title)}", "", *grid(table), "")
        if table.note:
            yield from (escaped(table.note), "")
    if found.findings:
        yield from ("## To know", "", *(f"- {escaped(each.sentence)}" for each in found.findings), "")
    yield tables.studies(found)
