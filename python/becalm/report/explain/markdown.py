"""An explanation as Markdown, for an issue or the appendix of a paper."""

from __future__ import annotations

from collections.abc import Iterator

from becalm.load.explanation import Explanation
from becalm.report.explain import tables
from becalm.report.markdown import escaped, grid, written


def write(explanation: Explanation) -> str:
    """Return the whole report."""
    return written(_lines(explanation))


def _lines(explanation: Explanation) -> Iterator[str]:
    for line in explanation.sentence.splitlines():
        yield from (f"**{escaped(line)}**", "")
    for case, table in tables.every(explanation):
        title = f": {case.program} on {case.machine}" if case is not None and len(explanation.cases) > 1 else ""
        yield from (f"## {escaped(table.title + title)}", "", *grid(table), "")
        if table.note:
            yield from (escaped(table.note), "")
    if explanation.findings:
        yield from ("## Findings", "", *(f"- {escaped(finding.sentence)}" for finding in explanation.findings), "")
    yield tables.studies(explanation)
