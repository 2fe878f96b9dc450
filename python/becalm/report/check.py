"""The report of `check`: a comment for a pull request, which is also what the terminal and a page say.

The comment begins with a mark by which the next one finds and replaces it. Names come from the change that is checked,
which anybody may propose: in the comment nothing of them is markup, a mention or an end of it.
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
"""The comment's first line, by which it is found again."""

MOST_ROWS = 200
"""Benchmarks that a comment lists; GitHub takes 65,536 characters, and nobody reads more."""

MOST_CHARACTERS = 60_000
"""Characters of a comment; in a longer one names and sentences are cut, since it would be refused."""

LONGEST = 120
"""Characters of a name in a comment that would be too long."""

LONGEST_LINE = 600
"""Characters of a sentence there."""

SILENT = "@\u200b"
"""An @ that calls nobody."""


def on_terminal(result: CheckResult, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = result.sentence.splitlines()
    head = Group(Text(first, "" if plain else "bold"), *map(Text, rest))
    return apart([head, *(grid(table, plain) for table in tables(result))])


def tables(result: CheckResult) -> Iterator[Table]:
    """Yield every benchmark, the worst first."""
    if not result.checks:
        return
    head = ("benchmark", "old", "new", "difference", f"{100 * result.confidence:g} % interval", "outcome")
    yield Table("", head, tuple(map(_row, ordered(result))), (1, 2, 3, 4), spare=(1, 2), codes=0)
    for check in ordered(result):
        if check.where is not None:
            yield Table(f"Functions of {check.name}", where.HEAD, where.rows(check.where), (2, 3, 4), codes=0)


def ordered(result: CheckResult) -> list[Checked]:
    """Return benchmarks above the limit, then undecided ones, then those within it; the worst of each first."""
    place = {gate: index for index, gate in enumerate(("above", "undecided", "within"))}
    return sorted(
        result.checks, key=lambda check: (place[check.gate], -check.difference.harm[0] if check.difference else 0.0)
    )


def _row(checked: Checked) -> tuple[str, ...]:
    d = checked.difference
    shown = ("", "") if d is None else (number(d), ends(d))
    return checked.name, checked.old, checked.new, *shown, str(checked.gate)


def as_markdown(result: CheckResult) -> str:
    """Return the comment."""
    text = written(_comment(result, whole=True))
    return text if len(text) <= MOST_CHARACTERS else written(_comment(result, whole=False))


def _comment(result: CheckResult, *, whole: bool) -> Iterator[str]:
    first, *rest = result.sentence.splitlines()
    yield from (MARK, f"### {SIGNS[result.gate]} {_safe(first, whole)}", "")
    yield from (line for each in rest for line in (_safe(each, whole), ""))
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
    """Return text without markup, and without mentions: @name and #1 would notify people and link to others."""
    return escaped(text if whole else cut(text, LONGEST_LINE)).replace("@", SILENT)
