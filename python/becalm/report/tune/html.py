"""A tune study as one HTML page that needs nothing else: no network, no scripts, pictures and style within."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from becalm.nouns.tune_verdict import BASELINE, TuneVerdict
from becalm.report.page import Part, Picture, filled
from becalm.report.tune import figures, tables
from becalm.wording import tune as sentences


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said first of one program."""

    program: str
    mood: str
    before: str
    after: str
    factor: str
    ends: str
    shift: str
    shift_ends: str
    sentence: str


def page(found: TuneVerdict) -> str:
    """The page. Raises UsageError where jinja2 or matplotlib is not installed."""
    answers = tuple(_answers(found))
    lines = found.sentence.splitlines()
    return filled(
        "tune/page.html",
        "--format markdown",
        title=f"becalm tune: {' and '.join(found.programs)}",
        several=len(found.programs) > 1,
        answers=answers,
        lines=lines[len(answers) :],
        commands=sentences.commands(found),
        profile=sentences.profile(found) if found.settings else "",
        parts=tuple(_parts(found)),
        findings=found.findings,
        facts=tables.facts(found),
    )


def _answers(found: TuneVerdict) -> Iterator[Answer]:
    arms = {(arm.name, arm.program): arm for arm in found.arms}
    for each in sentences.headline(found):
        before, after = arms[BASELINE, each.program], arms[each.arm, each.program]
        yield Answer(
            program=each.program,
            mood="good" if each.ratio.low > 1 else "bad" if each.ratio.high < 1 else "open",
            before=sentences.share(before.spread.value),
            after=sentences.share(after.spread.value),
            factor=sentences.factor(each.ratio),
            ends=sentences.ends(each.ratio),
            shift=sentences.change(each.shift),
            shift_ends=sentences.change_ends(each.shift),
            sentence=each.sentence,
        )


def _parts(found: TuneVerdict) -> Iterator[Part]:
    level = f"{100 * found.confidence:g} %"
    for program in found.programs:
        title = f": {program}" if len(found.programs) > 1 else ""
        compared = tables.compared(found, program)
        caption = (
            "Left: single runs; the box holds half of them, the line nine of ten, the points are the extremes (an "
            f"arrow: beyond the picture). Right: spread of a typical loop with its {level} "
            "interval; each stroke is one loop."
        )
        if compared.rows:
            yield Part(compared.title + title, _drawn((figures.scatter(found, program), caption)), compared)
        knobs = tables.knobs(found, program)
        ratios = (
            "How many times as large the spread is when one setting is left out, with the interval. Right of the line "
            "at 1 the setting helps; an interval wholly within the shaded range means that the setting can be left out."
        )
        slower = f"Change of the mean time that each setting causes, with its {level} interval."
        drawn = _drawn((figures.contributions(found, program), ratios), (figures.costs(found, program), slower))
        if knobs.rows:
            yield Part(knobs.title + title, drawn, knobs)
        textbook = tables.textbook(found, program)
        if textbook.rows:
            yield Part(textbook.title + title, table=textbook, folded=True)
    searched = (
        "Each point is one trial of the search, filled where it was the best so far; a cross at the top is a failed "
        "trial. Few runs make each of them a noisy number, and the lowest of many is lucky: what counts are the dashed "
        "lines, from fresh runs."
    )
    if course := _drawn((figures.course(found), searched)):
        yield Part("How it was found", course)
    for table in (tables.transfer(found), tables.excluded(found)):
        if table.rows:
            yield Part(table.title, table=table)


def _drawn(*pictures: tuple[str, str]) -> tuple[Picture, ...]:
    return tuple(Picture(svg, caption) for svg, caption in pictures if svg)
