"""The plots of an explanation as SVG (`becalm.report.drawing`): Mund's two normalised diagrams, and the waterfall.

The diagrams have the delay factor on the horizontal axis, as in Mund (1996): run queue, CPU use and paging with the
curve of the expected delay; disk, network and NFS. All diagrams of a report have one `DiagramScale`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from becalm.load.attribution import CauseSearch
from becalm.load.background_load import MEASURES
from becalm.load.explanation import Case
from becalm.load.waterfall import REFERENCE, UNEXPLAINED
from becalm.report.drawing import AFTER, ALARM, BEFORE, FAINT, INK, OTHER, figure, fit, svg
from becalm.report.explain.scale import LABELS, DiagramScale, delayed_from, value
from becalm.stats.response_shape import NONE
from becalm.wording.explain import shape
from becalm.wording.numbers import counted, duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 3.4
"""The height of a diagram, in inches."""

COLORS, MARKS = (BEFORE, AFTER, ALARM), ("o", "s", "^")
"""The colours and marks of the three measures of a diagram."""


def diagram(case: Case, names: Sequence[str], on: DiagramScale) -> str:
    """Return the plot of some measures of load over the delay factor; empty without two points."""
    if len(case.points) < 2:
        return ""
    known = [name for name in names if any(value(point, name) is not None for point in case.points)]
    with figure(HEIGHT) as (picture, axes):
        axes.axvline(1.0, color=FAINT, linewidth=0.8, zorder=0)
        for color, mark, name in zip(COLORS, MARKS, names, strict=True):
            points = [(p.delay.factor, v) for p in case.points if (v := value(p, name)) is not None]
            if not points:
                continue
            times = on.multipliers[name]
            axes.scatter(
                [delay for delay, _ in points],
                [times * load for _, load in points],
                s=20,
                marker=mark,
                color=color,
                alpha=0.9 if _leads(case, name) else 0.55,
                label=on.label(name),
                clip_on=False,
            )
            _fitted(axes, case, name, times, color)
        if "queue" in known:
            _expected(axes, delayed_from(case), on)
        axes.set_xlim(*on.delay)
        axes.set_ylim(0, on.top)
        axes.set_ylabel("load, times the stated factor")
        axes.set_xlabel(f"delay factor: time over {case.reference}")
        axes.grid(True, color=FAINT, linewidth=0.5)
        if known:
            axes.legend(
                loc="lower left",
                bbox_to_anchor=(0, 1),
                ncols=4,
                frameon=False,
                fontsize=8,
                borderpad=0,
                columnspacing=0.9,
                handlelength=1.6,
                handletextpad=0.2,
            )
        descriptions = "; ".join(_description(case, name) for name in known)
        left = not_known(case, names)
        where = f"{case.program} on {case.machine}"
        return svg(
            picture,
            f"{names[0]}-{where}",
            f"Load over the delay factor of {where}, {len(case.points)} points: {descriptions}.{left}",
        )


def not_known(case: Case, names: Sequence[str]) -> str:
    """Return the sentence with the measures of a diagram that no point has; empty where all are known."""
    missing = [LABELS[name] for name in names if all(value(point, name) is None for point in case.points)]
    return f" Not known: {', '.join(missing)}." if missing else ""


def _leads(case: Case, name: str) -> bool:
    """Return whether the measure belongs to the main cause."""
    a = case.attribution
    cause = {measure.name: measure.cause for measure in MEASURES}[name]
    return a.answer is CauseSearch.NAMED and a.cause == cause


def _expected(axes: Axes, least: float, on: DiagramScale) -> None:
    """Draw max(1, r/n): no delay up to one task per CPU (`least` for a program of more tasks), then in proportion."""
    most = min(on.delay[1], on.top / least)
    axes.plot(
        [1.0, 1.0, most],
        [0.0, least, least * most],
        color=INK,
        linewidth=1.1,
        linestyle=(0, (4, 3)),
        label="expected: max(1, r/n)",
    )


def _fitted(axes: Axes, case: Case, name: str, times: float, color: str) -> None:
    """Draw the fitted shape with the axes exchanged: the delay to the right, the load upwards.

    The shape was fitted to what the measures of other causes leave, so it is drawn where they have their means.
    """
    response = (case.attribution.shapes or {}).get(name)
    if response is None or response.kind == NONE:
        return
    alongside = sum(
        fit * sum(point.measures[measure] or 0.0 for point in case.points) / len(case.points)
        for share in case.attribution.shares
        if name not in share.coefficients
        for measure, fit in share.coefficients.items()
    )
    values = [v for point in case.points if (v := point.measures.get(name)) is not None]
    x = np.linspace(min(values), max(values), 200)
    axes.plot(response.at(x) + alongside, times * (x + 1 if name == "queue" else x), color=color, linewidth=1.4)


def _description(case: Case, name: str) -> str:
    values = [v for point in case.points if (v := value(point, name)) is not None]
    response = (case.attribution.shapes or {}).get(name)
    how = "hardly varied" if response is None else f"shape {shape(name, response)}"
    return f"{LABELS[name]} from {min(values):.3g} to {max(values):.3g}, {how}"


def importance(case: Case) -> str:
    """Return the plot of the share of the differences that each cause explains, with intervals."""
    shares = case.attribution.shares
    if not shares:
        return ""
    with figure(0.85 + 0.42 * len(shares), fitted=True) as (picture, axes):
        for row, share in enumerate(shares):
            color = BEFORE if share.cause == case.attribution.cause else OTHER
            axes.plot([100 * share.low, 100 * share.high], [row, row], color=color, linewidth=2, solid_capstyle="butt")
            axes.plot([100 * share.share], [row], "o", color=color, markersize=6)
        _rows(axes, [share.cause for share in shares])
        axes.set_xlim(-1, 101)
        axes.set_xlabel("share of the differences explained, %")
        axes.grid(True, axis="x", color=FAINT, linewidth=0.6)
        description = "; ".join(f"{share.cause} {100 * share.share:.0f} %" for share in shares)
        fit(picture, axes)
        return svg(
            picture, f"importance-{case.program}-{case.machine}", f"What explains the differences: {description}."
        )


def waterfall(case: Case) -> str:
    """Return the plot of the bars of the mean run, each beginning where the one before ended."""
    bars = [bar for bar in case.bars if bar.ns is not None]
    if len(bars) < 2:
        return ""
    with figure(0.85 + 0.4 * len(bars), fitted=True) as (picture, axes):
        start = 0.0
        for row, bar in enumerate(bars):
            ns = bar.ns or 0.0
            color = OTHER if bar.name == REFERENCE else ALARM if bar.name == UNEXPLAINED else BEFORE
            axes.barh(row, ns / 1e6, left=start / 1e6, height=0.6, color=color, alpha=1.0 if bar.exact else 0.55)
            axes.annotate(
                duration(ns) + ("" if bar.exact else ", estimated"),
                (max(start, start + ns) / 1e6, row),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
            )
            start += ns
        _rows(axes, [bar.name for bar in bars])
        axes.set_xlim(0, max(start, 1.0) / 1e6 * 1.22)
        axes.set_xlabel("ms of the mean run")
        description = "; ".join(f"{bar.name} {duration(bar.ns or 0.0)}" for bar in bars)
        runs = counted(case.runs, "run")
        fit(picture, axes)
        return svg(
            picture,
            f"waterfall-{case.program}-{case.machine}",
            f"Where the time of the mean of {runs} went: {description}.",
        )


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), list(names))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
