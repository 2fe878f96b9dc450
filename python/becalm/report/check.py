"""The report of `check`: a comment for a pull request, which is also what the terminal and a page say.

The comment begins with a mark by which the next one finds and replaces it. Names come from the change that is checked,
which anybody may propose: in the comment nothing of them is markup, a mention or an end of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.nouns.check import Checked, CheckResult
from becalm.report.design.terminal import grid
from becalm.report.markdown import escaped, written
from becalm.report.markdown import grid as lines_of
from becalm.report.table import Table
from becalm.report.terminal import apart
from becalm.wording.check import SIGNS, number
from becalm.wording.printable import cut
from becalm.wording.stored_comparison import ends

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


def on_terminal(found: CheckResult, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = found.sentence.splitlines()
    head = Group(Text(first, "" if plain else "bold"), *map(Text, rest))
    return apart([head, *(grid(each, plain) for each in tables(found))])


def tables(found: CheckResult) -> Iterator[Table]:
    """Yield every benchmark, the worst first."""
    if not found.checks:
        return
    head = ("benchmark", "old", "new", "difference", f"{100 * found.confidence:g} % interval", "outcome")
    yield Table("", head, tuple(map(_row, ordered(found))), (1, 2, 3, 4), spare=(1, 2), codes=0)


def ordered(found: CheckResult) -> list[Checked]:
    """Return benchmarks above the limit, then undecided ones, then those within it; the worst of each first."""
    place = {gate: index for index, gate in enumerate(("above", "undecided", "within"))}
    return sorted(
        found.checks, key=lambda each: (place[each.gate], -each.difference.harm[0] if each.difference else 0.0)
    )


def _row(each: Checked) -> tuple[str, ...]:
    d = each.difference
    shown = ("", "") if d is None else (number(d), ends(d))
    return each.name, each.old, each.new, *shown, str(each.gate)


def as_markdown(found: CheckResult) -> str:
    """Return the comment."""
    text = written(_comment(found, whole=True))
    return text if len(text) <= MOST_CHARACTERS else written(_comment(found, whole=False))


def _comment(found: CheckResult, *, whole: bool) -> Iterator[str]:
    first, *rest = found.sentence.splitlines()
    yield from (MARK, f"### {SIGNS[found.gate]} {_safe(first, whole)}", "")
    yield from (line for each in rest for line in (_safe(each, whole), ""))
    rows = ordered(found)
    for table in tables(found):
        fit = Table("", table.head, tuple(_cells(row, whole) for row in table.rows[:MOST_ROWS]), table.numbers)
        yield from ("<details open><summary>Benchmarks</summary>", "", *lines_of(fit), "", "</details>", "")
    if len(rows) > MOST_ROWS:
        yield from (f"{len(rows) - MOST_ROWS} more are in the JSON.", "")
    limit, level = 100 * found.fail_above, 100 * found.confidence
    yield f"<sub>becalm check, limit {limit:g} %, all intervals together at {level:g} %</sub>"


def _cells(row: tuple[str, ...], whole: bool) -> tuple[str, ...]:
    return tuple((cell if whole else cut(cell, LONGEST)).replace("@", SILENT) for cell in row)


def _safe(text: str, whole: bool) -> str:
    """Return text without markup, and without mentions: @name and #1 would notify people and link to others."""
    return escaped(text if whole else cut(text, LONGEST_LINE)).replace("@", SILENT)
