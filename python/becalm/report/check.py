"""The report of `check`: a comment for a pull request, which is also the text of the terminal and of the page.

The comment begins with a mark by which the next check finds and replaces it. Names come from the change under test,
which anybody may propose, so the comment escapes markup, mentions and its own end in them.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report.design.terminal import grid
from becalm.report.markdown import escaped, written
from becalm.report.markdown import grid as lines_of
from becalm.report.table import Table
from becalm.report.terminal import apart
from becalm.results.check import Checked, CheckResult
from becalm.wording import where
from becalm.wording.check import SIGNS, number
from becalm.wording.compare_stored import ends
from becalm.wording.printable import cut

MARK = "<!-- becalm check -->"
"""The first line of the comment, by which the next check finds it."""

MOST_ROWS = 200
"""The number of benchmarks that a comment lists; GitHub accepts 65,536 characters, and nobody reads more."""

MOST_CHARACTERS = 60_000
"""The length of a comment, in characters, above which names and sentences are cut."""

LONGEST = 120
"""The length of a name in a comment that would be too long, in characters."""

LONGEST_LINE = 600
"""The length of a sentence in such a comment, in characters."""

SILENT = "@\u200b"
"""An @ that mentions nobody."""


def on_terminal(result: CheckResult, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = result.sentence.splitlines()
    head = Group(Text(first, "" if plain else "bold"), *map(Text, rest))
    return apart([head, *(grid(table, plain) for table in tables(result))])


def tables(result: CheckResult) -> Iterator[Table]:
    """Yield the table of all benchmarks, the worst first, then functions of those that have a profile."""
    if not result.checks:
        return
    head = ("benchmark", "old", "new", "difference", f"{100 * result.confidence:g} % interval", "outcome")
    yield Table("", head, tuple(map(_row, ordered(result))), (1, 2, 3, 4), spare=(1, 2), codes=0)
    for check in ordered(result):
        if check.where is not None:
            yield Table(f"Functions of {check.name}", where.HEAD, where.rows(check.where), (2, 3, 4), codes=0)


def ordered(result: CheckResult) -> list[Checked]:
    """Return benchmarks above the limit, then undecided ones, then the rest; within each group the worst first."""
    place = {gate: index for index, gate in enumerate(("above", "undecided", "within"))}
    return sorted(
        result.checks, key=lambda check: (place[check.gate], -check.difference.harm[0] if check.difference else 0.0)
    )


def _row(checked: Checked) -> tuple[str, ...]:
    d = checked.difference
    change_cells = ("", "") if d is None else (number(d), ends(d))
    return checked.name, checked.old, checked.new, *change_cells, str(checked.gate)


def as_markdown(result: CheckResult) -> str:
    """Return the comment in Markdown."""
    text = written(_comment(result, whole=True))
    return text if len(text) <= MOST_CHARACTERS else written(_comment(result, whole=False))


def _comment(result: CheckResult, *, whole: bool) -> Iterator[str]:
    first, *rest = result.sentence.splitlines()
    yield from (MARK, f"### {SIGNS[result.gate]} {_safe(first, whole)}", "")
    yield from (line for sentence in rest for line in (_safe(sentence, whole), ""))
    rows = ordered(result)
    for table in tables(result):
        fit = Table("", table.head, tuple(_cells(row, whole) for row in table.rows[:MOST_ROWS]), table.numbers)
        title = _safe(table.title or "Benchmarks", whole)
        yield from (f"<details open><summary>{title}</summary>", "", *lines_of(fit), "", "</details>", "")
    if len(rows) > MOST_ROWS:
        yield from (f"{len(rows) - MOST_ROWS} more are in the JSON.", "")
    limit, level = 100 * result.fail_above, 100 * result.confidence
    yield f"<sub>becalm check, limit {limit:g} %, all intervals together at {level:g} %</sub>"


def _cells(row: tuple[str, ...], whole: bool) -> tuple[str, ...]:
    return tuple((cell if whole else cut(cell, LONGEST)).replace("@", SILENT) for cell in row)


def _safe(text: str, whole: bool) -> str:
    """Return text without markup and mentions: @name and #1 would notify people and link to other pages."""
    return escaped(text if whole else cut(text, LONGEST_LINE)).replace("@", SILENT)
