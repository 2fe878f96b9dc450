"""`run` and `compare` as one page for any number of programs: answer, differences, distributions, tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from becalm.report import compare_figures as figures
from becalm.report.drawing import WIDTH
from becalm.report.page import Part, Picture, filled
from becalm.report.table import Table
from becalm.report.terminal import sorted_differences
from becalm.results.compare import Circumstances, Verdict
from becalm.units import join_names
from becalm.wording import where as where_words
from becalm.wording.numbers import spent


def page(verdict: Verdict, tables: tuple[Table, ...]) -> str:
    """Return the page."""
    lines = verdict.sentence.splitlines()
    names = [summary.name for summary in verdict.summaries]
    return filled(
        "compare.html",
        title=f"becalm {verdict.kind}: {names[0]}"
        if len(names) == 1
        else f"becalm {verdict.kind}: {len(names)} programs",
        answer=lines[0] if lines else "",
        mood=_mood(verdict),
        lines=lines[1:],
        parts=tuple(_parts(verdict, tables)),
        findings=verdict.findings,
        facts=_facts(verdict),
    )


def _mood(verdict: Verdict) -> str:
    """Return "good" or "bad" where all comparisons show the same; empty otherwise."""
    worse = [difference.worse for difference in verdict.differences]
    if not worse or None in worse or (True in worse and False in worse):
        return ""
    return "bad" if worse[0] else "good"


def _parts(verdict: Verdict, tables: tuple[Table, ...]) -> Iterator[Part]:
    level = f"{100 * verdict.confidence:g} %"
    measured = "time" if verdict.metric is None else verdict.metric.name
    label = f"difference in {measured} from the reference"
    differences = sorted_differences(verdict)
    colors = {summary.name: figures.color_of(verdict, summary) for summary in verdict.summaries}
    if forest := both(lambda width: figures.ratios(differences, label, colors=colors, width=width)):
        names = join_names(sorted({d.reference for d in differences}))
        caption = f"Intervals at {level} for all together; the line is the reference, {names}."
        yield Part("Differences", (Picture(forest, caption),))
    count = len(figures.drawable(verdict))
    rest = f" The first {count} of {len(verdict.summaries)} programs." if count < len(verdict.summaries) else ""
    if violins := both(lambda width: figures.violins(verdict, width)):
        caption = (
            "Width: number of runs. Thick: the middle half; dot: median. The line ends where the runs end, dotted "
            "where some lie beyond the axis, which shows three interquartile ranges beyond the quartiles."
        )
        yield Part("Runs", (Picture(violins, caption + rest),))
    if memory := both(lambda width: figures.memories(verdict, width)):
        caption = (
            "Resident memory of all processes of one run of each program; pages that several processes share count in "
            "each."
        )
        yield Part("Memory", (Picture(memory, caption),))
    for table in tables:
        pictures = _function_pictures(verdict) if table.title == where_words.TITLE else ()
        yield Part(table.title or "Numbers", pictures, table)
    yield from _evidence(verdict)
    if steps := figures.distributions(verdict):
        alongside = " Dashed: the reference." if verdict.differences else ""
        caption = f"Share of runs that took at most this long.{alongside}{rest}"
        yield Part("Distributions", (Picture("".join(steps), caption),))
    if courses := figures.courses(verdict):
        caption = f"Runs in the order they were made; the line is the median, triangles lie beyond the axis.{rest}"
        yield Part("In order", (Picture("".join(courses), caption),))


def _function_pictures(verdict: Verdict) -> tuple[Picture, ...]:
    """Return the picture of the functions that differ; none where there are none."""
    from becalm.report import where_figure  # Most comparisons have no profiles.

    where = verdict.where
    bars = "" if where is None else both(lambda width: where_figure.functions(where, width))
    return (Picture(bars, where_figure.CAPTION),) if bars else ()


def both(draw: Callable[[float], str]) -> str:
    """Return a plot twice, as wide as the page and for a phone; the page shows one of them (page.css)."""
    wide = draw(WIDTH)
    return f'<div class="desk">{wide}</div><div class="phone">{draw(figures.NARROW)}</div>' if wide else ""


def _evidence(verdict: Verdict) -> Iterator[Part]:
    """Yield the circumstances that a later reader needs: date, machine and commands."""
    about = verdict.circumstances
    if about is None:
        return
    yield from evidence(about, verdict.elapsed_ns)
    names = [summary.name for summary in verdict.summaries]
    commands = tuple(zip(names, about.commands, strict=False))
    if any(name != command for name, command in commands):
        yield Part("Commands", table=Table("", ("program", "command"), commands, codes=1))


def evidence(about: Circumstances | None, elapsed_ns: int | None) -> Iterator[Part]:
    """Yield when, where and for how long something was measured, where that is known."""
    if about is None:
        return
    when = "" if about.when_ns is None else f"{datetime.fromtimestamp(about.when_ns / 1e9, UTC):%Y-%m-%d %H:%M} UTC"
    facts = [("measured", when), ("machine", ", ".join(filter(None, (about.machine, about.processor))))]
    facts += [("kernel", f"Linux {about.kernel}" if about.kernel else "")]
    facts += [("took", "" if elapsed_ns is None else spent(elapsed_ns))]
    yield Part("Measured", table=Table("", ("", ""), tuple(row for row in facts if row[1])))


def _facts(verdict: Verdict) -> str:
    study = f"Study {verdict.study}, seed {verdict.seed}, " if verdict.study is not None else ""
    return f"{study}host {verdict.host}."
