"""A tune study as Markdown, for an issue, a pull request or a paper's appendix."""

from __future__ import annotations

import re
from collections.abc import Iterator

from becalm.report.steady import sentences, tables
from becalm.report.table import Table
from becalm.steadiness import Steadiness


def write(found: Steadiness) -> str:
    """The whole report; tables as of GitHub Flavored Markdown, section 4.10."""
    return ("\n".join(_lines(found)) + "\n").encode("utf-8", "replace").decode("utf-8")


def _lines(found: Steadiness) -> Iterator[str]:
    answers = max(1, len(sentences.headline(found)))
    for index, line in enumerate(found.sentence.splitlines()):
        yield from (f"**{escaped(line)}**" if index < answers else escaped(line), "")
    if found.settings:
        yield from ("The settings, as a profile to copy:", "", "```toml", *sentences.profile(found).splitlines(), "```")
        yield ""
    yield from ("| type | to |", "| --- | --- |")
    yield from (f"| {code(command)} | {escaped(what)} |" for command, what in sentences.commands(found))
    yield ""
    for program, table in tables.every(found):
        title = f": {program}" if program and len(found.programs) > 1 else ""
        yield from (f"## {escaped(table.title + title)}", "", *grid(table), "")
        if table.note:
            yield from (escaped(table.note), "")
    if found.findings:
        yield from ("## To know", "", *(f"- {escaped(each.sentence)}" for each in found.findings), "")
    yield escaped(tables.facts(found))


def grid(table: Table) -> Iterator[str]:
    """A table, line by line."""
    yield _row(table.head)
    yield "| " + " | ".join("---:" if index in table.numbers else "---" for index in range(len(table.head))) + " |"
    yield from map(_row, table.rows)


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(map(escaped, cells)) + " |"


def escaped(text: str) -> str:
    """Text in which nothing is markup: names of programs hold anything."""
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """A command in back-ticks, within a table."""
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"
