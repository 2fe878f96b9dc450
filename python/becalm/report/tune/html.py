"""A tune study as a self-contained HTML page, without scripts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from becalm.report.design.html import section as surface
from becalm.report.page import Part, Picture, Section, filled
from becalm.report.tune import figures, response, scaling, sweep_table, tables
from becalm.report.tune.production import left, production_files
from becalm.results.tune import Arm, ArmComparison, TuneVerdict
from becalm.results.tune_arms import BASELINE
from becalm.wording import tune as sentences


class Figure(msgspec.Struct, frozen=True):
    """A large number with its label, and the name of one of the page's colours."""

    what: str
    value: str
    mood: str = ""


class ProgramAnswer(msgspec.Struct, frozen=True):
    """The answer for one program on the page."""

    program: str
    mood: str
    numbers: tuple[Figure, ...]
    sentence: str


def page(verdict: TuneVerdict) -> str:
    """Return the page."""
    answers = tuple(_answers(verdict))
    lines = verdict.sentence.splitlines()
    return filled(
        "tune/page.html",
        title=f"becalm tune: {' and '.join(verdict.programs)}",
        several=len(verdict.programs) > 1,
        answers=answers,
        lines=lines[len(answers) :],
        commands=sentences.commands(verdict),
        profile=sentences.profile(verdict) if verdict.settings else "",
        parts=tuple(_parts(verdict)),
        surfaces=_surfaces(verdict),
        fitted=response.trials(verdict),
        noticed=() if verdict.fit is None else verdict.fit.findings,
        later=tuple(_later(verdict)),
        files=production_files(verdict),
        unfiled=left(verdict),
        findings=verdict.findings,
        facts=tables.facts(verdict),
    )


def _answers(verdict: TuneVerdict) -> Iterator[ProgramAnswer]:
    arms = {(arm.name, arm.program): arm for arm in verdict.arms}
    for comparison in sentences.headline(verdict):
        before, after = arms[BASELINE, comparison.program], arms[comparison.arm, comparison.program]
        mood = "good" if comparison.ratio.low > 1 else "bad" if comparison.ratio.high < 1 else "open"
        numbers = (
            _times(verdict, comparison, before, after) if tables.timed(verdict) else _spreads(comparison, before, after)
        )
        yield ProgramAnswer(comparison.program, mood, numbers, comparison.sentence)


def _spreads(comparison: ArmComparison, before: Arm, after: Arm) -> tuple[Figure, ...]:
    return (
        Figure("spread before", sentences.share(before.spread.value), "before"),
        Figure("spread after", sentences.share(after.spread.value), "after"),
        Figure(
            f"reduction of the spread ({sentences.ends(comparison.ratio)})",
            f"{sentences.factor(comparison.ratio)}-fold",
        ),
        Figure(f"mean time ({sentences.change_ends(comparison.shift)})", sentences.change(comparison.shift)),
    )


def _times(verdict: TuneVerdict, comparison: ArmComparison, before: Arm, after: Arm) -> tuple[Figure, ...]:
    size, ends = response.gain(verdict, comparison)
    means = [response.shown(verdict, response.level(verdict, arm).value) for arm in (before, after)]
    return (
        Figure(f"mean {response.name(verdict)} before", means[0], "before"),
        Figure(f"mean {response.name(verdict)} after", means[1], "after"),
        Figure(f"{response.gained(verdict)} ({ends})", size),
        Figure(f"standard deviation, from {response.deviation(verdict, before)}", response.deviation(verdict, after)),
    )


def _parts(verdict: TuneVerdict) -> Iterator[Part]:
    level = f"{100 * verdict.confidence:g} %"
    scaling_curve = scaling.curve(verdict) if tables.timed(verdict) else None
    if scaling_curve is not None:
        caption = f"Mean times with the settings and without, with their {level} intervals, as the number grows."
        yield Part("Scaling", _drawn((scaling.picture(scaling_curve), caption)), tables.scaled(verdict))
    if (swept := sweep_table.curve(verdict)).rows:
        yield Part(swept.title, table=swept)
    for program in verdict.programs:
        title = f": {program}" if len(verdict.programs) > 1 else ""
        arms = tables.arm_table(verdict, program)
        right = (
            f"mean {response.name(verdict)} with its {level} interval"
            if tables.timed(verdict)
            else f"spread of a typical loop with its {level} interval; each stroke is one loop"
        )
        caption = (
            "Left: single runs; the box holds half of them, the line nine of ten, the points are the extremes (an "
            f"arrow: beyond the picture). Right: {right}."
        )
        if arms.rows:
            yield Part(arms.title + title, _drawn((figures.scatter(verdict, program), caption)), arms)
        knobs = tables.knobs(verdict, program)
        worse = "long a run" if verdict.metric is None else f"bad {verdict.metric.name}"
        extent = worse if tables.timed(verdict) else "large the spread"
        ratios = (
            f"How many times as {extent} is when one setting is left out, with the interval. Right of the line "
            "at 1 the setting helps; an interval wholly within the shaded range means that the setting can be left out."
        )
        slower = f"Change of the mean time that each setting causes, with its {level} interval."
        if any(contribution.alone is not None for contribution in verdict.contributions):
            slower += " What each costs alone is in the table."
        elif tables.no_cost(verdict, program):
            slower += " Settings whose cost is shared or not known are only in the table."
        drawn = _drawn((figures.contributions(verdict, program), ratios), (figures.costs(verdict, program), slower))
        if knobs.rows:
            yield Part(knobs.title + title, drawn, knobs)
        textbook = tables.textbook(verdict, program)
        if textbook.rows:
            yield Part(textbook.title + title, table=textbook, folded=True)


def _later(verdict: TuneVerdict) -> Iterator[Part]:
    """Yield the parts on how the settings were found, and on what was not tried."""
    searched = (
        "Each point is one trial of the search, filled where it had the settings that were chosen; a cross at the top "
        "is a trial that failed or was ended early. Few runs make each of them a noisy number, and the lowest of many "
        "is lucky: what counts are the dashed lines, from fresh runs."
    )
    course, tried = _drawn((figures.course(verdict), searched)), tables.trials(verdict)
    if course or tried.rows:
        yield Part("How it was found", course, tried if tried.rows else None, folded=True)
    for table in (tables.transfer(verdict), tables.excluded(verdict)):
        if table.rows:
            yield Part(table.title, table=table)


def _surfaces(verdict: TuneVerdict) -> tuple[Section, ...]:
    """Return the sections of the surfaces fitted to the trials of the search."""
    return (
        ()
        if verdict.fit is None
        else tuple(surface(verdict.fit, response_fit) for response_fit in verdict.fit.responses)
    )


def _drawn(*pictures: tuple[str, str]) -> tuple[Picture, ...]:
    return tuple(Picture(svg, caption) for svg, caption in pictures if svg)
