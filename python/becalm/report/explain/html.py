"""An explanation as one HTML page that needs nothing else: no network, no scripts, pictures and style within."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from becalm.load.attribution import Answer
from becalm.load.explanation import Case, Explanation
from becalm.report.explain import figures, tables
from becalm.report.page import Part, Picture, filled

MOODS = {Answer.NAMED: "bad", Answer.NONE: "good", Answer.NO_LOAD: "good"}


@dataclass(frozen=True, slots=True)
class Section:
    """One program on one machine."""

    title: str
    mood: str
    sentence: str
    parts: tuple[Part, ...]


def page(found: Explanation) -> str:
    """The page. Raises UsageError where jinja2 or matplotlib is not installed."""
    return filled(
        "explain/page.html",
        "--markdown",
        title=f"becalm explain: {' and '.join(dict.fromkeys(case.program for case in found.cases))}",
        summary=tables.summary(found) if len(found.cases) > 1 else None,
        sections=tuple(_section(case) for case in found.cases),
        findings=found.findings,
        facts=tables.studies(found),
    )


def _section(case: Case) -> Section:
    mood = MOODS.get(case.attribution.answer, "open")
    return Section(f"{case.program} on {case.machine}", mood, case.sentence, tuple(_parts(case)))


def _parts(case: Case) -> Iterator[Part]:
    first = (
        "Each point is a run, or several that had one load. Dashed: the delay that the run queue lets expect (Mund "
        "1996). Green: the fitted shape, the other measures at their mean. The measures are those of the others; the "
        "run queue includes the program."
    )
    second = "Disk, network and NFS of the others over the same delay. A load that does not matter shows no slope."
    drawn = ((figures.diagram(case, figures.FIRST), first), (figures.diagram(case, figures.SECOND), second))
    pictures = tuple(Picture(svg, caption) for svg, caption in drawn if svg)
    if pictures:
        yield Part("Load and delay", pictures, tables.delays(case))
    if case.attribution.shapes:
        yield Part("Shapes", (), tables.shapes(case))
    if case.attribution.shares:
        caption = "Share of the differences between runs that each cause explains, with its interval at 95 %."
        yield Part(
            tables.importance(case).title, (Picture(figures.importance(case), caption),), tables.importance(case)
        )
    caption = "Bars on top of the reference begin where the one before ended. Pale: estimated, not counted."
    fall = figures.waterfall(case)
    bars = tables.bars(case)
    if bars.rows:
        yield Part(bars.title, (Picture(fall, caption),) if fall else (), bars)
