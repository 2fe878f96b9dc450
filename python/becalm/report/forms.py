"""The forms of a report: the terminal, Markdown, an HTML page and JSON, printed or written to a file.

`becalm.report.REPORTS` names the module of each result's report. It has the functions `on_terminal`, and either
`tables` (Markdown and HTML are then made of the sentence and these) or `as_markdown` and `as_html`.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console, RenderableType

from becalm.errors import MachineError, UsageError
from becalm.files.written import target
from becalm.files.written import write as write_file
from becalm.nouns.finding import Finding
from becalm.report import report_of
from becalm.report.markdown import escaped, grid, written
from becalm.report.page import filled
from becalm.report.table import Table


class Conclusion(Protocol):
    """A result of a verb that measures or explains."""

    @property
    def sentence(self) -> str:
        """The whole in words."""

    def to_json(self) -> dict[str, Any]:
        """Return the documented form."""


def on_terminal(conclusion: Conclusion, *, plain: bool = False, columns: int = 80, **more: Any) -> RenderableType:
    """Return the report for the terminal. `plain`: ASCII except for the units, no colours; `more`: of its own
    report."""
    draw: Callable[..., RenderableType] = report_of(conclusion).on_terminal
    return draw(conclusion, plain=plain, columns=columns, **more)


def as_markdown(conclusion: Conclusion) -> str:
    """Return the report as Markdown, for an issue, a pull request or a paper's appendix."""
    own = getattr(report_of(conclusion), "as_markdown", None)
    return str(own(conclusion)) if own is not None else generic_markdown(conclusion)


def as_html(conclusion: Conclusion) -> str:
    """Return the report as one page that needs nothing else."""
    own = getattr(report_of(conclusion), "as_html", None)
    return str(own(conclusion)) if own is not None else generic_html(conclusion)


def generic_markdown(conclusion: Conclusion) -> str:
    """Return sentence, tables and findings as Markdown."""
    return written(_markdown(conclusion))


def generic_html(conclusion: Conclusion) -> str:
    """Return sentence, tables and findings as a page."""
    lines = conclusion.sentence.splitlines()
    return filled(
        "plain.html",
        title=lines[0] if lines else "becalm",
        lines=lines[1:],
        tables=tuple(report_of(conclusion).tables(conclusion)),
        findings=_findings(conclusion),
        facts="",
    )


def as_json(conclusion: Conclusion) -> str:
    """Return the documented form as text."""
    return json.dumps(conclusion.to_json(), indent=2, allow_nan=False)


def _findings(conclusion: Conclusion) -> Sequence[Finding]:
    return tuple(getattr(conclusion, "findings", ()))


def _markdown(conclusion: Conclusion) -> Iterator[str]:
    for line in conclusion.sentence.splitlines():
        yield from (f"**{escaped(line)}**", "")
    for table in report_of(conclusion).tables(conclusion):
        yield from ((f"## {escaped(table.title)}", "") if table.title else ())
        yield from (*grid(table, table.codes), "")
        if table.note:
            yield from (escaped(table.note), "")
    if findings := _findings(conclusion):
        yield from ("## To know", "", *(f"- {escaped(finding.sentence)}" for finding in findings))


FORMS: dict[str, Callable[[Conclusion], str]] = {
    ".html": as_html,
    ".htm": as_html,
    ".md": as_markdown,
    ".json": lambda found: as_json(found) + "\n",
}
"""The writer of a report by the ending of its file; one more is one row."""


def check(given: str) -> Path:
    """Return the path of a report that can be written, which is checked before measuring. Raises UsageError."""
    path = Path(given)
    if path.suffix not in FORMS:
        raise UsageError(f"--report writes .html, .md and .json, not {path.name!r}.")
    if not path.parent.is_dir():
        raise UsageError(f"--report: there is no directory {path.parent}.")
    return target(path)


def write(conclusion: Conclusion, path: Path) -> None:
    """Write the report in the form that the file's name asks for. Raises MachineError."""
    text = FORMS[path.suffix](conclusion)
    try:
        write_file(path, text)
    except OSError as error:
        raise MachineError(f"The report {path} cannot be written: {error.strerror}.") from error


def tried(conclusion: Conclusion) -> None:
    """Draw it in every form, for nobody: raises whatever would be raised when a person asks for one of them."""
    for width in (20, 80):
        Console(file=io.StringIO(), width=width, markup=False, emoji=False).print(
            on_terminal(conclusion, columns=width)
        )
    for form in dict.fromkeys(FORMS.values()):
        with contextlib.suppress(UsageError):
            form(conclusion).encode()


def listed(table: Any) -> Table:
    """Return a table of the terminal (rich) as text in cells."""
    numbers = tuple(index for index, column in enumerate(table.columns) if column.justify == "right")
    rows = zip(*(column.cells for column in table.columns), strict=True)
    head = tuple(str(column.header) for column in table.columns)
    return Table(str(table.title or ""), head, tuple(tuple(map(str, row)) for row in rows), numbers)
