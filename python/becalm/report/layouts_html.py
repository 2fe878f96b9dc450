"""`compare --layouts` as one page: the answer, all builds on one axis, the interval, tables."""

from __future__ import annotations

from becalm.report import compare_figures as figures
from becalm.report.compare_html import both, evidence
from becalm.report.drawing import AFTER, BEFORE, FAINT, INK, WIDTH, figure, fit, svg
from becalm.report.page import Part, Picture, filled
from becalm.report.table import Table
from becalm.results.layouts import LayoutComparison
from becalm.wording.numbers import percent

COLORS = (AFTER, BEFORE)
"""The colours of the old and the new program."""


def page(comparison: LayoutComparison, tables: tuple[Table, ...]) -> str:
    """Return the page."""
    lines = comparison.sentence.splitlines()
    d = comparison.difference
    sides, builds = tables
    measured = "time" if comparison.metric is None else comparison.metric.name
    level = f"{100 * d.confidence:g} %"
    caption = (
        f"One dot for each build: its typical {measured}, as a difference from the mean of {comparison.old.name}. "
        "Upright lines are the means of the builds."
    )
    parts = [Part("Builds", (Picture(both(lambda width: builds_of(comparison, width)), caption),))]
    if forest := both(lambda width: figures.ratios([d], f"difference in {measured} beyond layout", width=width)):
        parts.append(Part("Difference", (Picture(forest, f"Interval at {level}, layout included."),)))
    parts.append(Part("Programs", table=sides))
    parts.append(Part("All builds", table=builds, folded=True))
    commands = tuple((side.name, side.command, side.build) for side in comparison.sides)
    parts.append(Part("Commands", table=Table("", ("program", "command", "build"), commands)))
    parts += evidence(comparison.circumstances, comparison.elapsed_ns)
    study = f"Study {comparison.study}, seed {comparison.seed}, " if comparison.study is not None else ""
    return filled(
        "compare.html",
        title=f"becalm compare --layouts: {comparison.old.name}, {comparison.new.name}",
        answer=lines[0] if lines else "",
        mood="" if d.worse is None else "bad" if d.worse else "good",
        lines=lines[1:],
        parts=parts,
        findings=comparison.findings,
        facts=f"{study}host {comparison.host}.",
    )


def builds_of(comparison: LayoutComparison, width: float = WIDTH) -> str:
    """Return the picture of all builds of both programs on one axis, in percent of the old program's mean."""
    with figure(1.9, width=width, fitted=True) as (drawn, axes):
        axes.axvline(0.0, color=INK, linewidth=0.8, zorder=0)
        for row, (side, color) in enumerate(zip(comparison.sides, COLORS, strict=True)):
            places = [100 * layout.difference for layout in side.layouts]
            axes.plot(places, [row] * len(places), "o", color=color, markersize=6, alpha=0.6, markeredgewidth=0)
            mean = 100 * (side.typical / comparison.old.typical - 1)
            axes.plot([mean], [row], "|", color=color, markersize=26, markeredgewidth=2)
        figures.rows(axes, [side.name for side in comparison.sides], width)
        axes.grid(True, axis="x", color=FAINT, linewidth=0.6)
        axes.set_xlabel(f"difference from the mean of {comparison.old.name}, %")
        ranges = "; ".join(
            f"{side.name} {percent(min(ends), sign=True)} to {percent(max(ends), sign=True)} %"
            for side in comparison.sides
            for ends in [[layout.difference for layout in side.layouts]]
        )
        fit(drawn, axes)
        return svg(drawn, f"builds-{width:g}", f"Builds, as differences from the mean of the old program: {ranges}.")
