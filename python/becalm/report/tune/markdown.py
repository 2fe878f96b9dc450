"""A tune study as Markdown, for an issue, a pull request or the appendix of a paper."""

from __future__ import annotations

from collections.abc import Iterator

from becalm.report.markdown import code, escaped, grid, written
from becalm.report.tune import tables
from becalm.report.tune.production import left, production_files
from becalm.results.tune import TuneVerdict
from becalm.wording import tune as sentences


def write(verdict: TuneVerdict) -> str:
    """Return the whole report."""
    return written(_lines(verdict))


def _lines(verdict: TuneVerdict) -> Iterator[str]:
    answers = max(1, len(sentences.headline(verdict)))
    for index, line in enumerate(verdict.sentence.splitlines()):
        yield from (f"**{escaped(line)}**" if index < answers else escaped(line), "")
    if verdict.settings:
        yield from (
            "The settings, as a profile to copy:",
            "",
            "```toml",
            *sentences.profile(verdict).splitlines(),
            "```",
        )
        yield ""
    yield from ("| type | to |", "| --- | --- |")
    yield from (f"| {code(command)} | {escaped(effect)} |" for command, effect in sentences.commands(verdict))
    yield ""
    if files := production_files(verdict):
        yield from ("## What to put into production", "")
        for file in files:
            yield from (f"`{file.path}`", "", "```", *file.content.splitlines(), "```", "")
        if (rest := left(verdict)).rows:
            yield from (f"### {rest.title}", "", *grid(rest), "")
    for program, table in tables.every(verdict):
        title = f": {program}" if program and len(verdict.programs) > 1 else ""
        yield from (f"## {escaped(table.title + title)}", "", *grid(table), "")
        if table.note:
            yield from (escaped(table.note), "")
    if verdict.findings:
        yield from ("## Findings", "", *(f"- {escaped(finding.sentence)}" for finding in verdict.findings), "")
    yield escaped(tables.facts(verdict))
