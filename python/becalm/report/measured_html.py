"""`run` and `compare` as one page, however many programs: answer, differences, distributions, courses, tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from becalm.nouns.verdict import Verdict
from becalm.report import measured_figures as figures
from becalm.report.drawing import WIDTH
from becalm.report.page import Part, Picture, filled
from becalm.report.table import Table
from becalm.report.terminal import sorted_differences
from becalm.units import listed
from becalm.wording.measurement import spent


def page(found: Verdict, tables: tuple[Table, ...]) -> str:
    """Return the page."""
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
    """Return good or bad only where that is shown for all comparisons."""
    worse = [each.worse for each in found.differences]
    if not worse or None in worse or (True in worse and False in worse):
        return ""
    return "bad" if worse[0] else "good"


def _parts(found: Verdict, tables: tuple[Table, ...]) -> Iterator[Part]:
    level = f"{100 * found.confidence:g} %"
    measured = "time" if found.metric is None else found.metric.name
    what = f"difference in {measured} from the reference"
    differences = sorted_differences(found)
    colors = {each.name: figures.color_of(found, each) for each in found.summaries}
    if forest := both(lambda width: figures.ratios(differences, what, colors=colors, width=width)):
        names = listed(sorted({d.reference for d in differences}))
        caption = f"Intervals at {level} for all together; the line is the reference, {names}."
        yield Part("Differences", (Picture(forest, caption),))
    shown = len(figures.drawn(found))
    rest = f" The first {shown} of {len(found.summaries)} programs." if shown < len(found.summaries) else ""
    if violins := both(lambda width: figures.violins(found, width)):
        caption = (
            "Width: how many runs. Thick: half of them; dot: median. The line ends where the runs end, dotted where "
            "some lie beyond the axis, which shows three interquartile ranges beyond the quartiles."
        )
        yield Part("Runs", (Picture(violins, caption + rest),))
    if memory := both(lambda width: figures.memories(found, width)):
        caption = "Resident memory of all processes of one run of each program; pages that several share count in each."
        yield Part("Memory", (Picture(memory, caption),))
    for table in tables:
        yield Part(table.title or "Numbers", table=table)
    yield from _evidence(found)
    if steps := figures.distributions(found):
        beside = " Dashed: the reference." if found.differences else ""
        caption = f"Share of runs that took at most so long.{beside}{rest}"
        yield Part("Distributions", (Picture("".join(steps), caption),))
    if courses := figures.courses(found):
        caption = f"Runs in the order they were made; the line is the median, triangles lie beyond the axis.{rest}"
        yield Part("In order", (Picture("".join(courses), caption),))


def both(draw: Callable[[float], str]) -> str:
    """Return a picture twice: as wide as the page, and for a phone, of which the page shows one (page.css)."""
    wide = draw(WIDTH)
    return f'<div class="desk">{wide}</div><div class="phone">{draw(figures.NARROW)}</div>' if wide else ""


def _evidence(found: Verdict) -> Iterator[Part]:
    """Return the circumstances a later reader needs: date, machine and commands."""
    about = found.circumstances
    if about is None:
        return
    when = "" if about.when_ns is None else f"{datetime.fromtimestamp(about.when_ns / 1e9, UTC):%Y-%m-%d %H:%M} UTC"
    facts = [("measured", when), ("machine", ", ".join(filter(None, (about.machine, about.processor))))]
    facts += [("kernel", f"Linux {about.kernel}" if about.kernel else "")]
    facts += [("took", "" if found.elapsed_ns is None else spent(found.elapsed_ns))]
    yield Part("Measured", table=Table("", ("", ""), tuple(row for row in facts if row[1])))
    names = [each.name for each in found.summaries]
    commands = tuple(zip(names, about.commands, strict=False))
    if any(name != command for name, command in commands):
        yield Part("Commands", table=Table("", ("program", "command"), commands, codes=1))


def _facts(found: Verdict) -> str:
    study = f"Study {found.study}, seed {found.seed}, " if found.study is not None else ""
    return f"{study}host {found.host}."
