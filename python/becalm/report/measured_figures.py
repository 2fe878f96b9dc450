"""Pictures of `run` and `compare`: violins, distributions, courses, and how many times as long each takes.

All are made of what a Summary keeps (`becalm.stats.thinned`): they end where the runs end. Public: violins,
distributions, courses, ratios, memories, all of which give SVG, empty where there is nothing to draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from becalm.nouns.verdict import Difference, Summary, Verdict
from becalm.report.drawing import AFTER, ALARM, BEFORE, FAINT, HALF, INK, OTHER, figure, fit, svg
from becalm.report.terminal import sorted_differences, sorted_summaries
from becalm.stats.arrays import median_of
from becalm.stats.thinned import density, step_ends
from becalm.wording.measurement import percent
from becalm.wording.metric import binary, measured, quantity
from becalm.wording.numbers import UNITS, duration
from becalm.wording.printable import cut, distinct

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.5
"""Inches of a row."""

NAME_WIDTH = 30
"""Characters of a name beside its row."""

COLORS = (BEFORE, AFTER, OTHER, ALARM, INK)
"""Of programs that share a picture."""

MOST = 40
"""Programs that are drawn; the tables have all."""

PLACES = 160
"""Points of a violin's outline."""


def drawn(found: Verdict) -> list[Summary]:
    """The programs of which there is anything to draw, in the order of the tables."""
    return [each for each in sorted_summaries(found) if each.quantiles][:MOST]


def axis_unit(found: Verdict) -> tuple[str, float]:
    """The unit of an axis and how many of what is measured make one."""
    if found.metric is not None:
        return found.metric.unit, 1.0
    medians = [each.median_ns.value for each in found.summaries if each.median_ns is not None]
    typical = median_of(medians) if medians else 1e9
    name = duration(typical).rpartition(" ")[2]
    return name, {**UNITS, "µs": 1e3, "min": 60e9}[name]


def _label(found: Verdict) -> str:
    unit, _ = axis_unit(found)
    what = "wall time" if found.metric is None else found.metric.name
    return f"{what}, {unit}" if unit else what


def violins(found: Verdict) -> str:
    """How the runs of each program are distributed, with half of them in the box and the median marked."""
    programs = drawn(found)
    if not programs:
        return ""
    _, scale = axis_unit(found)
    with figure(0.75 + ROW * len(programs), fitted=True) as (made, axes):
        for row, each in enumerate(programs):
            points = np.array(each.quantiles) / scale
            low, high = float(points[0]), float(points[-1])
            if high > low:
                places = np.linspace(low, high, PLACES)
                height = density(points, places)
                half = 0.42 * height / height.max()
                axes.fill_between(places, row - half, row + half, color=_color(found, each), alpha=0.4, linewidth=0)
            quarter, middle, upper = np.quantile(points, (0.25, 0.5, 0.75))
            axes.plot([quarter, upper], [row, row], color=_color(found, each), linewidth=4, solid_capstyle="butt")
            axes.plot([low, high], [row, row], color=_color(found, each), linewidth=1)
            axes.plot([middle], [row], "o", color=INK, markersize=4)
        _rows(axes, [each.name for each in programs])
        axes.set_xlabel(_label(found))
        axes.grid(True, axis="x", color=FAINT, linewidth=0.6)
        told = "; ".join(f"{each.name} {measured(each).shown(measured(each).median.value)}" for each in programs)
        fit(made, axes)
        return svg(made, "violins", f"Distribution of the runs, medians: {told}.")


def distributions(found: Verdict) -> list[str]:
    """Of each program, which share of its runs took at most so long; beside the reference where there is one."""
    programs = drawn(found)
    _, scale = axis_unit(found)
    references = {d.reference for d in found.differences}
    reference = next((each for each in programs if each.name in references), None)
    pictures = []
    for each in programs:
        if each is reference:
            continue
        with figure(2.3, width=HALF, fitted=True) as (made, axes):
            for one, color in ((reference, BEFORE), (each, AFTER)):
                if one is not None:
                    x, y = step_ends(np.array(one.quantiles) / scale)
                    axes.step(x, y, where="post", color=color, linewidth=1.6)
            axes.set_ylim(-0.02, 1.02)
            axes.set_xlabel(_label(found))
            axes.set_ylabel("share of runs")
            axes.set_title(cut(each.name, NAME_WIDTH), fontsize=9.5, loc="left")
            axes.grid(True, color=FAINT, linewidth=0.6)
            beside = f" beside that of {reference.name}" if reference is not None else ""
            fit(made, axes)
            pictures.append(svg(made, f"distribution-{each.name}", f"Distribution of {each.name}{beside}."))
    return pictures


def courses(found: Verdict) -> list[str]:
    """The runs of each program in the order they were made: drifts, steps and outliers show."""
    _, scale = axis_unit(found)
    pictures = []
    for each in drawn(found):
        with figure(1.9, width=HALF, fitted=True) as (made, axes):
            values = np.array(each.course) / scale
            axes.plot(np.arange(1, len(values) + 1), values, ".", color=_color(found, each), markersize=4)
            axes.axhline(measured(each).median.value / scale, color=INK, linewidth=0.8)
            pieces = len(each.course) < each.runs
            axes.set_xlabel(f"pieces of {each.runs / len(values):,.0f} runs, in order" if pieces else "run")
            axes.set_ylabel(_label(found))
            axes.set_title(cut(each.name, NAME_WIDTH), fontsize=9.5, loc="left")
            fit(made, axes)
            pictures.append(svg(made, f"course-{each.name}", f"Runs of {each.name} in order."))
    return pictures


def memories(found: Verdict) -> str:
    """What one run of each program had resident over its time."""
    programs = [each for each in sorted_summaries(found) if each.memory][: len(COLORS)]
    if not programs:
        return ""
    unit, scale = binary(max(size for each in programs for _, size in each.memory))
    colors = COLORS if len(programs) > 1 else (AFTER,)
    with figure(2.6, fitted=True) as (made, axes):
        for each, color in zip(programs, colors, strict=False):
            at, size = (np.array(column) for column in zip(*each.memory, strict=True))
            axes.plot(at / 1e9, size / scale, color=color, linewidth=1.6, label=cut(each.name, NAME_WIDTH))
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.set_xlabel("time since the start of the run, s")
        axes.set_ylabel(f"resident, {unit}")
        axes.grid(True, color=FAINT, linewidth=0.6)
        if len(programs) > 1:
            axes.legend(frameon=False, fontsize=8.5)
        told = "; ".join(f"{each.name} at most {_most(each)}" for each in programs)
        fit(made, axes)
        return svg(made, "memory", f"Memory over the time of one run: {told}.")


def _most(each: Summary) -> str:
    return quantity(max(size for _, size in each.memory), "bytes")


def ratios(differences: Sequence[Difference], what: str = "times as long as the reference") -> str:
    """How many times as long each takes as its reference, with intervals, on a logarithmic axis."""
    known = [d for d in differences if math.isfinite(d.low) and math.isfinite(d.high) and d.low > -1][:MOST]
    if not known:
        return ""
    with figure(0.75 + 0.36 * len(known), fitted=True) as (made, axes):
        axes.axvline(1.0, color=INK, linewidth=0.8, zorder=0)
        for row, d in enumerate(known):
            color = OTHER if d.worse is None else BEFORE if d.worse else AFTER
            low, middle, high = (1 + each for each in (d.low, d.estimate, d.high))
            axes.plot([low, high], [row, row], color=color, linewidth=2, solid_capstyle="butt")
            axes.plot([low, high], [row, row], "|", color=color, markersize=8, markeredgewidth=2)
            axes.plot([middle], [row], "o", color=color, markersize=6)
        _rows(axes, [d.name for d in known])
        axes.set_xscale("log")
        ends = [1 + each for d in known for each in (d.low, d.high)] + [1.0]
        pad = (max(ends) / min(ends)) ** 0.06 * 1.0005
        axes.set_xlim(min(ends) / pad, max(ends) * pad)
        _ratio_ticks(axes)
        axes.grid(True, axis="x", color=FAINT, linewidth=0.6)
        axes.set_xlabel(what)
        told = "; ".join(f"{d.name} {percent(d.estimate, (d.high - d.low) / 2, sign=True)} %" for d in known)
        fit(made, axes)
        return svg(made, "ratios", f"Differences from the reference: {told}.")


def _ratio_ticks(axes: Axes) -> None:
    from becalm.report.drawing import plain_ticks

    plain_ticks(axes.xaxis, axes.get_xlim(), most=8)


def _color(found: Verdict, each: Summary) -> str:
    """The reference by one colour, better and worse ones by theirs."""
    compared = {d.name: d for d in sorted_differences(found)}
    if not compared:
        return AFTER
    d: Any = compared.get(each.name)
    return BEFORE if d is None else AFTER


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), distinct(names, NAME_WIDTH))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
