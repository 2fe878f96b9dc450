"""A tune study as one HTML page that needs nothing else: no network, no scripts, pictures and style within."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from becalm.nouns.tune_verdict import Arm, ArmComparison, TuneVerdict
from becalm.nouns.tuned_arm import BASELINE
from becalm.report.design.html import Section
from becalm.report.design.html import section as surface
from becalm.report.page import Part, Picture, filled
from becalm.report.tune import figures, response, scaling, sweep_table, tables
from becalm.report.tune.production import left, production_files
from becalm.wording import tune as sentences


@dataclass(frozen=True, slots=True)
class Figure:
    """A large number: its label, and the name of the page's colour."""

    what: str
    value: str
    mood: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer for one program."""

    program: str
    mood: str
    numbers: tuple[Figure, ...]
    sentence: str


def page(found: TuneVerdict) -> str:
    """Return the page."""
    answers = tuple(_answers(found))
    lines = found.sentence.splitlines()
    return filled(
        "tune/page.html",
        title=f"becalm tune: {' and '.join(found.programs)}",
        several=len(found.programs) > 1,
        answers=answers,
        lines=lines[len(answers) :],
        commands=sentences.commands(found),
        profile=sentences.profile(found) if found.settings else "",
        parts=tuple(_parts(found)),
        surfaces=_surfaces(found),
        fitted=response.trials(found),
        noticed=() if found.fit is None else found.fit.findings,
        later=tuple(_later(found)),
        files=production_files(found),
        unfiled=left(found),
        findings=found.findings,
        facts=tables.facts(found),
    )


def _answers(found: TuneVerdict) -> Iterator[Answer]:
    arms = {(arm.name, arm.program): arm for arm in found.arms}
    for each in sentences.headline(found):
        before, after = arms[BASELINE, each.program], arms[each.arm, each.program]
        mood = "good" if each.ratio.low > 1 else "bad" if each.ratio.high < 1 else "open"
        numbers = _times(found, each, before, after) if tables.timed(found) else _spreads(each, before, after)
        yield Answer(each.program, mood, numbers, each.sentence)


def _spreads(each: ArmComparison, before: Arm, after: Arm) -> tuple[Figure, ...]:
    return (
        Figure("spread before", sentences.share(before.spread.value), "before"),
        Figure("spread after", sentences.share(after.spread.value), "after"),
        Figure(f"reduction of the spread ({sentences.ends(each.ratio)})", sentences.factor(each.ratio)),
        Figure(f"mean time ({sentences.change_ends(each.shift)})", sentences.change(each.shift)),
    )


def _times(found: TuneVerdict, each: ArmComparison, before: Arm, after: Arm) -> tuple[Figure, ...]:
    size, ends = response.gain(found, each)
    means = [response.shown(found, response.level(found, arm).value) for arm in (before, after)]
    return (
        Figure(f"mean {response.name(found)} before", means[0], "before"),
        Figure(f"mean {response.name(found)} after", means[1], "after"),
        Figure(f"{response.gained(found)} ({ends})", size),
        Figure(f"standard deviation, from {response.deviation(found, before)}", response.deviation(found, after)),
    )


def _parts(found: TuneVerdict) -> Iterator[Part]:
    level = f"{100 * found.confidence:g} %"
    made = scaling.curve(found) if tables.timed(found) else None
    if made is not None:
        caption = f"Mean times with the settings and without, with their {level} intervals, as the number grows."
        yield Part("Scaling", _drawn((scaling.picture(made), caption)), tables.scaled(found))
    if (swept := sweep_table.curve(found)).rows:
        yield Part(swept.title, table=swept)
    for program in found.programs:
        title = f": {program}" if len(found.programs) > 1 else ""
        compared = tables.compared(found, program)
        right = (
            f"mean {response.name(found)} with its {level} interval"
            if tables.timed(found)
            else f"spread of a typical loop with its {level} interval; each stroke is one loop"
        )
        caption = (
            "Left: single runs; the box holds half of them, the line nine of ten, the points are the extremes (an "
            f"arrow: beyond the picture). Right: {right}."
        )
        if compared.rows:
            yield Part(compared.title + title, _drawn((figures.scatter(found, program), caption)), compared)
        knobs = tables.knobs(found, program)
        worse = "long a run" if found.metric is None else f"bad {found.metric.name}"
        what = worse if tables.timed(found) else "large the spread"
        ratios = (
            f"How many times as {what} is when one setting is left out, with the interval. Right of the line "
            "at 1 the setting helps; an interval wholly within the shaded range means that the setting can be left out."
        )
        slower = f"Change of the mean time that each setting causes, with its {level} interval."
        if any(each.alone is not None for each in found.contributions):
            slower += " What each costs alone is in the table."
        elif tables.no_cost(found, program):
            slower += " Settings whose cost is shared or not known are in the table alone."
        drawn = _drawn((figures.contributions(found, program), ratios), (figures.costs(found, program), slower))
        if knobs.rows:
            yield Part(knobs.title + title, drawn, knobs)
        textbook = tables.textbook(found, program)
        if textbook.rows:
            yield Part(textbook.title + title, table=textbook, folded=True)


def _later(found: TuneVerdict) -> Iterator[Part]:
    """Yield the parts on how it was found, and on what was not tried."""
    searched = (
        "Each point is one trial of the search, filled where it had the settings that were chosen; a cross at the top "
        "is a trial that failed or was ended early. Few runs make each of them a noisy number, and the lowest of many "
        "is lucky: what counts are the dashed lines, from fresh runs."
    )
    course, tried = _drawn((figures.course(found), searched)), tables.trials(found)
    if course or tried.rows:
        yield Part("How it was found", course, tried if tried.rows else None, folded=True)
    for table in (tables.transfer(found), tables.excluded(found)):
        if table.rows:
            yield Part(table.title, table=table)


def _surfaces(found: TuneVerdict) -> tuple[Section, ...]:
    """Return the sections of the surfaces fitted to the trials of the search."""
    return () if found.fit is None else tuple(surface(found.fit, each) for each in found.fit.responses)


def _drawn(*pictures: tuple[str, str]) -> tuple[Picture, ...]:
    return tuple(Picture(svg, caption) for svg, caption in pictures if svg)
