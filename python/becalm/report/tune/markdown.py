"""A tune study as Markdown, for an issue, a pull request or a paper's appendix."""

from __future__ import annotations

from collections.abc import Iterator

from becalm.nouns.tune_verdict import TuneVerdict
from becalm.report.markdown import code, escaped, grid, written
from becalm.report.tune import tables
from becalm.report.tune.production import left, production_files
from becalm.wording import tune as sentences


def write(found: TuneVerdict) -> str:
    """Return the whole report."""
    return written(_lines(found))


def _lines(found: TuneVerdict) -> Iterator[str]:
    answers = max(1, len(sentences.headline(found)))
    for index, line in enumerate(found.sentence.splitlines()):
        yield from (f"**{escaped(line)}**" if index < answers else escaped(line), "")
    if found.settings:
        yield from ("The settings, as a profile to copy:", "", "```toml", *sentences.profile(found).splitlines(), "```")
        yield ""
    yield from ("| type | to |", "| --- | --- |")
    yield from (f"| {code(command)} | {escaped(what)} |" for command, what in sentences.commands(found))
    yield ""
    if made := production_files(found):
        yield from ("## What to put into production", "")
        for each in made:
            yield from (f"`{each.path}`", "", "```", *each.content.splitlines(), "```", "")
        if (rest := left(found)).rows:
            yield from (f"### {rest.title}", "", *grid(rest), "")
    for program, table in tables.every(found):
        title = f": {program}" if program and len(found.programs) > 1 else ""
        yield from (f"## {escaped(table.title + title)}", "", *grid(table), "")
        if table.note:
            yield from (escaped(table.note), "")
    if found.findings:
        yield from ("## To know", "", *(f"- {escaped(each.sentence)}" for each in found.findings), "")
    yield escaped(tables.facts(found))
