"""An explanation as a self-contained HTML page, without scripts."""

from __future__ import annotations

from collections.abc import Iterator

from becalm.load.attribution import CauseSearch
from becalm.load.explanation import Case, Explanation
from becalm.report.explain import figures, tables
from becalm.report.explain.scale import FIRST, SECOND, DiagramScale, scale
from becalm.report.page import Part, Picture, Section, filled

MOODS = {CauseSearch.NAMED: "bad", CauseSearch.NONE: "good", CauseSearch.NO_LOAD: "good"}


def page(explanation: Explanation) -> str:
    """Return the page."""
    on = scale(explanation.cases)
    return filled(
        "explain/page.html",
        title=f"becalm explain: {' and '.join(dict.fromkeys(case.program for case in explanation.cases))}",
        summary=tables.summary(explanation) if len(explanation.cases) > 1 else None,
        sections=tuple(_section(case, on) for case in explanation.cases),
        findings=explanation.findings,
        facts=tables.studies(explanation),
    )


def _section(case: Case, on: DiagramScale) -> Section:
    mood = MOODS.get(case.attribution.answer, "open")
    return Section(f"{case.program} on {case.machine}", mood, case.sentence, tuple(_parts(case, on)))


def _parts(case: Case, on: DiagramScale) -> Iterator[Part]:
    first = (
        "Each point is a run, or several that had one load. Dashed: the delay that is expected from the run queue "
        "(Mund 1996). Lines: fitted shapes, the other measures at their mean. The run queue includes the program, the "
        "other measures do not; each is multiplied by the number next to its name. All diagrams of this page have the "
        "same axes and multipliers."
    )
    second = (
        "Disk, network and NFS of the others over the same delay, on the same axes. A load that does not matter shows "
        "no slope, one that was not there lies at zero."
    )
    captions = ((FIRST, first), (SECOND, second))
    drawn = [(figures.diagram(case, names, on), text + figures.not_known(case, names)) for names, text in captions]
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
    load = tables.machine_load(case)
    bars = tables.bars(case)
    if bars.rows:
        yield Part(bars.title, (Picture(fall, caption),) if fall else (), bars)
    if load.rows:
        yield Part(load.title, (), load)
