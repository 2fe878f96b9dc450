"""`run` and `compare` as one page, however many programs: answer, differences, distributions, courses, tables."""

from __future__ import annotations

from collections.abc import Iterator

from becalm.nouns.verdict import Verdict
from becalm.report import measured_figures as figures
from becalm.report.page import Part, Picture, filled
from becalm.report.table import Table
from becalm.report.terminal import sorted_differences


def page(found: Verdict, tables: tuple[Table, ...]) -> str:
    """The page."""
    lines = found.sentence.splitlines()
    names = [each.name for each in found.summaries]
    return filled(
        "measured.html",
        title=f"becalm {found.kind}: {names[0]}" if len(names) == 1 else f"becalm {found.kind}: {len(names)} programs",
        answer=lines[0] if lines else "",
        mood=_mood(found),
        lines=lines[1:],
        parts=tuple(_parts(found, tables)),
        findings=found.findings,
        facts=_facts(found),
    )


def _mood(found: Verdict) -> str:
    """Good or bad only where that is shown of all that were compared."""
    worse = [each.worse for each in found.differences]
    if not worse or None in worse or (True in worse and False in worse):
        return ""
    return "bad" if worse[0] else "good"


def _parts(found: Verdict, tables: tuple[Table, ...]) -> Iterator[Part]:
    level = f"{100 * found.confidence:g} %"
    what = "times as long as" if found.metric is None else f"times the {found.metric.name} of"
    if forest := figures.ratios(sorted_differences(found), f"{what} the reference"):
        caption = f"Intervals at {level} for all together; the line is the reference."
        yield Part("Differences", (Picture(forest, caption),))
    shown = len(figures.drawn(found))
    rest = f" The first {shown} of {len(found.summaries)} programs." if shown < len(found.summaries) else ""
    if violins := figures.violins(found):
        caption = "Width: how many runs. Thick: half of them. The line ends where the runs end; dot: median."
        yield Part("Runs", (Picture(violins, caption + rest),))
    if memory := figures.memories(found):
        caption = "Resident memory of all processes of one run of each program; pages that several share count in each."
        yield Part("Memory", (Picture(memory, caption),))
    for table in tables:
        yield Part(table.title or "Numbers", table=table)
    if steps := figures.distributions(found):
        beside = " Beside each in the other colour: the reference." if found.differences else ""
        caption = f"Share of runs that took at most so long.{beside}{rest}"
        yield Part("Distributions", (Picture("".join(steps), caption),))
    if courses := figures.courses(found):
        caption = f"Runs in the order they were made; the line is the median.{rest}"
        yield Part("In order", (Picture("".join(courses), caption),))


def _facts(found: Verdict) -> str:
    study = f"Study {found.study}, seed {found.seed}, " if found.study is not None else ""
    return f"{study}host {found.host}."
