"""Plots of `run` and `compare`: violins, distributions, runs in order, ratios and memory.

All are drawn from what a Summary keeps (`becalm.stats.thinned`), so they end where the runs end. Public: violins,
distributions, courses, ratios, memories; all return SVG, empty where there is nothing to draw.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from becalm.report.drawing import AFTER, ALARM, BEFORE, FAINT, HALF, INK, OTHER, WIDTH, figure, fit, svg
from becalm.report.terminal import sorted_summaries
from becalm.results.compare import Difference, Summary, Verdict
from becalm.stats.arrays import median_of
from becalm.stats.thinned import density, step_ends
from becalm.wording.metric import binary, measured, quantity
from becalm.wording.numbers import UNITS, duration, percent
from becalm.wording.printable import cut, distinct

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.5
"""The height of a row, in inches."""

NAME_WIDTH = 30
"""The length of a name next to its row, in characters."""

NARROW_NAMES = 12
"""The same on a phone."""

NARROW = 3.9
"""The width, in inches, of a plot that fits on a phone with letters as large as those of text."""

LARGE = 5.0
"""The ratio from which a difference is written as a factor."""

COLORS = (AFTER, BEFORE, OTHER, ALARM, INK)
"""The colours of programs in their order; a program has the same colour in all plots."""

MOST = 40
"""The number of programs that are drawn; the tables have all."""

PLACES = 160
"""The number of points of a violin's outline."""


def drawable(verdict: Verdict) -> list[Summary]:
    """Return the programs that can be drawn, in the order of the tables."""
    return [summary for summary in sorted_summaries(verdict) if summary.quantiles][:MOST]


def axis_unit(verdict: Verdict) -> tuple[str, float]:
    """Return the unit of an axis and its size in units of the measured values."""
    if verdict.metric is not None:
        return verdict.metric.unit, 1.0
    medians = [summary.median_ns.value for summary in verdict.summaries if summary.median_ns is not None]
    typical = median_of(medians) if medians else 1e9
    name = duration(typical).rpartition(" ")[2]
    return name, {**UNITS, "µs": 1e3, "min": 60e9}[name]


def _label(verdict: Verdict) -> str:
    unit, _ = axis_unit(verdict)
    quantity_name = "wall time" if verdict.metric is None else verdict.metric.name
    return f"{quantity_name}, {unit}" if unit else quantity_name


def body(verdict: Verdict) -> tuple[float, float]:
    """Return the limits of an axis that a few distant runs do not stretch, in the unit of the measured values.

    They are the limits of the histograms on the terminal: three interquartile ranges beyond the quartiles (Tukey).
    """
    programs = drawable(verdict)
    bins = [
        program.metrics[0].histogram if verdict.metric is not None and program.metrics else program.histogram
        for program in programs
    ]
    # Without a histogram the ends of the runs are the limits.
    ends = [
        (program.quantiles[0], program.quantiles[-1]) if histogram is None else (histogram.low, histogram.high)
        for program, histogram in zip(programs, bins, strict=True)
    ]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    # The tail of one program may lie within the body of another.
    if high > low:
        return low, high
    return low - abs(low) * 0.01 - 1e-9, high + abs(high) * 0.01 + 1e-9


def tail(verdict: Verdict, program: Summary, limits: tuple[float, float]) -> str:
    """Return in words which runs of a program lie beyond the limits of an axis; empty where none does."""
    points = np.array(program.quantiles)
    below, above = (
        round(float(share) * program.runs) for share in ((points < limits[0]).mean(), (points > limits[1]).mean())
    )
    text = measured(program).shown
    parts = [f"{max(1, below)} below, from {text(float(points[0]))}"] if points[0] < limits[0] else []
    parts += [f"{max(1, above)} above, to {text(float(points[-1]))}"] if points[-1] > limits[1] else []
    return "; ".join(parts)


def violins(verdict: Verdict, width: float = WIDTH) -> str:
    """Return the violins of each program's runs, with the middle half as a bar and the median as a dot."""
    programs = drawable(verdict)
    if not programs:
        return ""
    _, scale = axis_unit(verdict)
    limits = body(verdict)
    with figure(0.75 + ROW * len(programs), width=width, fitted=True) as (picture, axes):
        for row, summary in enumerate(programs):
            points = np.array(summary.quantiles)
            inside = points[(points >= limits[0]) & (points <= limits[1])]
            points = (inside if len(inside) else points) / scale
            low, high = float(points[0]), float(points[-1])
            color = color_of(verdict, summary)
            if high > low:
                places = np.linspace(low, high, PLACES)
                height = density(points, places)
                half = 0.42 * height / height.max()
                axes.fill_between(places, row - half, row + half, color=color, alpha=0.4, linewidth=0)
            quarter, middle, upper = np.quantile(np.array(summary.quantiles) / scale, (0.25, 0.5, 0.75))
            axes.plot([quarter, upper], [row, row], color=color, linewidth=4, solid_capstyle="butt")
            axes.plot([low, high], [row, row], color=color, linewidth=1)
            axes.plot([middle], [row], "o", color=INK, markersize=4)
            if beyond := tail(verdict, summary, limits):
                # The line is dotted to the edge, since runs go on there.
                axes.plot([high, limits[1] / scale], [row, row], ":", color=color, linewidth=1)
                axes.annotate(
                    f"{beyond} ▸",
                    (1, row + 0.36),
                    xycoords=("axes fraction", "data"),
                    ha="right",
                    fontsize=8,
                    color=INK,
                )
        rows(axes, [program.name for program in programs], width)
        room = 0.03 * (limits[1] - limits[0]) / scale
        axes.set_xlim(limits[0] / scale - room, limits[1] / scale + room)
        axes.set_xlabel(_label(verdict))
        axes.grid(True, axis="x", color=FAINT, linewidth=0.6)
        medians = "; ".join(
            f"{program.name} {measured(program).shown(measured(program).median.value)}" for program in programs
        )
        fit(picture, axes)
        return svg(picture, f"violins-{width:g}", f"Distribution of the runs, medians: {medians}.")


def distributions(verdict: Verdict) -> list[str]:
    """Return for each program the plot of the share of its runs up to each time, next to that of the reference."""
    programs = drawable(verdict)
    if not programs:
        return []
    _, scale = axis_unit(verdict)
    limits = body(verdict)
    references = {d.reference for d in verdict.differences}
    reference = next((program for program in programs if program.name in references), None)
    pictures = []
    for program in programs:
        if program is reference:
            continue
        with figure(2.3, width=HALF, fitted=True) as (picture, axes):
            for summary, dashes in ((reference, "--"), (program, "-")):
                if summary is not None:
                    x, y = step_ends(np.array(summary.quantiles) / scale)
                    axes.step(x, y, dashes, where="post", color=color_of(verdict, summary), linewidth=1.6)
            axes.set_ylim(-0.02, 1.02)
            axes.set_xlim(limits[0] / scale, limits[1] / scale)
            axes.set_xlabel(_label(verdict))
            axes.set_ylabel("share of runs")
            axes.set_title(cut(program.name, NAME_WIDTH), fontsize=9.5, loc="left")
            axes.grid(True, color=FAINT, linewidth=0.6)
            alongside = f" next to that of {reference.name}" if reference is not None else ""
            fit(picture, axes)
            pictures.append(svg(picture, f"distribution-{program.name}", f"Distribution of {program.name}{alongside}."))
    return pictures


def courses(verdict: Verdict) -> list[str]:
    """Return the plots of each program's runs in the order they were made, which show drifts, steps and outliers."""
    programs = drawable(verdict)
    if not programs:
        return []
    _, scale = axis_unit(verdict)
    limits = body(verdict)
    pictures = []
    for program in programs:
        with figure(1.9, width=HALF, fitted=True) as (picture, axes):
            values = np.array(program.course)
            places, within = np.arange(1, len(values) + 1), (values >= limits[0]) & (values <= limits[1])
            axes.plot(places[within], values[within] / scale, ".", color=color_of(verdict, program), markersize=4)
            for beyond, edge, mark in ((values > limits[1], limits[1], "^"), (values < limits[0], limits[0], "v")):
                if not beyond.any():
                    continue
                axes.plot(
                    places[beyond], np.full(beyond.sum(), edge / scale), mark, color=ALARM, markersize=4, clip_on=False
                )
            axes.axhline(measured(program).median.value / scale, color=INK, linewidth=0.8)
            room = 0.05 * (limits[1] - limits[0]) / scale
            axes.set_ylim(limits[0] / scale - room, limits[1] / scale + room)
            pieces = len(program.course) < program.runs
            axes.set_xlabel(f"each the median of {program.runs / len(values):,.0f} runs, in order" if pieces else "run")
            axes.set_ylabel(_label(verdict))
            axes.set_title(cut(program.name, NAME_WIDTH), fontsize=9.5, loc="left")
            fit(picture, axes)
            pictures.append(svg(picture, f"course-{program.name}", f"Runs of {program.name} in order."))
    return pictures


def memories(verdict: Verdict, width: float = WIDTH) -> str:
    """Return the plot of the resident memory of each program over one run."""
    programs = [summary for summary in sorted_summaries(verdict) if summary.memory][: len(COLORS)]
    if not programs:
        return ""
    unit, scale = binary(max(size for program in programs for _, size in program.memory))
    with figure(2.6, width=width, fitted=True) as (picture, axes):
        for program in programs:
            at, size = (np.array(column) for column in zip(*program.memory, strict=True))
            axes.plot(
                at / 1e9,
                size / scale,
                color=color_of(verdict, program),
                linewidth=1.6,
                label=cut(program.name, NAME_WIDTH),
            )
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.set_xlabel("time since the start of the run, s")
        axes.set_ylabel(f"resident, {unit}")
        axes.grid(True, color=FAINT, linewidth=0.6)
        if len(programs) > 1:
            axes.legend(frameon=False, fontsize=8.5)
        peaks = "; ".join(f"{program.name} at most {_most(program)}" for program in programs)
        fit(picture, axes)
        return svg(picture, f"memory-{width:g}", f"Memory over the time of one run: {peaks}.")


def _most(summary: Summary) -> str:
    return quantity(max(size for _, size in summary.memory), "bytes")


def ratios(
    differences: Sequence[Difference],
    label: str = "difference from the reference",
    *,
    colors: Mapping[str, str] | None = None,
    width: float = WIDTH,
) -> str:
    """Return the plot of the differences from the references, in percent with intervals, on a logarithmic axis.

    `colors`: the colours of programs by name; without it, better and worse have their own colours.
    """
    known = [d for d in differences if math.isfinite(d.low) and math.isfinite(d.high) and d.low > -1][:MOST]
    if not known:
        return ""
    with figure(0.75 + 0.36 * len(known), width=width, fitted=True) as (picture, axes):
        axes.axvline(1.0, color=INK, linewidth=0.8, zorder=0)
        for row, d in enumerate(known):
            judged = OTHER if d.worse is None else BEFORE if d.worse else AFTER
            color = judged if colors is None else colors.get(d.name, judged)
            low, middle, high = (1 + change for change in (d.low, d.estimate, d.high))
            axes.plot([low, high], [row, row], color=color, linewidth=2, solid_capstyle="butt")
            axes.plot([low, high], [row, row], "|", color=color, markersize=8, markeredgewidth=2)
            axes.plot([middle], [row], "o", color=color, markersize=6)
        rows(axes, [d.name for d in known], width)
        axes.set_xscale("log")
        ends = [1 + change for d in known for change in (d.low, d.high)] + [1.0]
        pad = (max(ends) / min(ends)) ** 0.06 * 1.0005
        axes.set_xlim(min(ends) / pad, max(ends) * pad)
        _ratio_ticks(axes, 8 if width >= WIDTH else 5)
        axes.grid(True, axis="x", color=FAINT, linewidth=0.6)
        axes.set_xlabel(label)
        changes = "; ".join(f"{d.name} {percent(d.estimate, (d.high - d.low) / 2, sign=True)} %" for d in known)
        fit(picture, axes)
        return svg(picture, f"ratios-{width:g}", f"Differences from the reference: {changes}.")


def _change(ratio: float, _: object) -> str:
    """Return a tick of a ratio as a change in percent, or as a factor where it is large."""
    if ratio >= LARGE:
        return f"{ratio:g}-fold"
    change = 100 * (ratio - 1)
    return "0 %" if abs(change) < 1e-9 else f"{change:+.3g} %"


def _ratio_ticks(axes: Axes, most: int) -> None:
    from becalm.report.drawing import plain_ticks

    plain_ticks(axes.xaxis, axes.get_xlim(), most=most, form=_change)


def color_of(verdict: Verdict, program: Summary) -> str:
    """Return the colour of a program in all plots of a page, by its place on the command line."""
    names = [summary.name for summary in verdict.summaries]
    return COLORS[names.index(program.name) % len(COLORS)] if program.name in names else OTHER


def rows(axes: Axes, names: Sequence[str], width: float = WIDTH) -> None:
    """Name the rows of a picture of so many inches."""
    axes.set_yticks(range(len(names)), distinct(names, NAME_WIDTH if width >= WIDTH else NARROW_NAMES))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
