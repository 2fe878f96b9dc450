"""The forms of a report: terminal, Markdown, HTML page and JSON, printed or written to a file.

`becalm.report.REPORTS` names the module of each result's report. The module has a function `on_terminal`, and either
`tables`, from which Markdown and HTML are made with the sentence, or its own `as_markdown` and `as_html`.
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
        """All sentences of the result."""

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON form."""


def on_terminal(conclusion: Conclusion, *, plain: bool = False, columns: int = 80, **more: Any) -> RenderableType:
    """Return the report for the terminal. `plain`: ASCII except for units, and no colours; `more`: options of the
    report."""
    draw: Callable[..., RenderableType] = report_of(conclusion).on_terminal
    return draw(conclusion, plain=plain, columns=columns, **more)


def as_markdown(conclusion: Conclusion) -> str:
    """Return the report as Markdown, for an issue, a pull request or a paper's appendix."""
    render = getattr(report_of(conclusion), "as_markdown", None)
    return str(render(conclusion)) if render is not None else generic_markdown(conclusion)


def as_html(conclusion: Conclusion) -> str:
    """Return the report as one self-contained page."""
    render = getattr(report_of(conclusion), "as_html", None)
    return str(render(conclusion)) if render is not None else generic_html(conclusion)


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
    """Return the documented JSON form as text."""
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
        yield from ("## Findings", "", *(f"- {escaped(finding.sentence)}" for finding in findings))


FORMS: dict[str, Callable[[Conclusion], str]] = {
    ".html": as_html,
    ".htm": as_html,
    ".md": as_markdown,
    ".json": lambda conclusion: as_json(conclusion) + "\n",
}
"""The function that makes a report, by the ending of its file; a new form is a row."""


def check(name: str) -> Path:
    """Return the path of a report that can be written; called before measuring. Raises UsageError."""
    path = Path(name)
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


def draw_all(conclusion: Conclusion) -> None:
    """Make the report in every form and discard it, which raises whatever a user of one of them would see raised."""
    for width in (20, 80):
        Console(file=io.StringIO(), width=width, markup=False, emoji=False).print(
            on_terminal(conclusion, columns=width)
        )
    for form in dict.fromkeys(FORMS.values()):
        with contextlib.suppress(UsageError):
            form(conclusion).encode()


def listed(table: Any) -> Table:
    """Return a table of the terminal (rich) as a table of text cells."""
    numbers = tuple(index for index, column in enumerate(table.columns) if column.justify == "right")
    rows = zip(*(column.cells for column in table.columns), strict=True)
    head = tuple(str(column.header) for column in table.columns)
    return Table(str(table.title or ""), head, tuple(tuple(map(str, row)) for row in rows), numbers)
