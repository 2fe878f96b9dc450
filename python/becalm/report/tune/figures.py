"""The plots of a tune study as SVG for a page (`becalm.report.drawing`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from becalm.nouns.finding import Interval
from becalm.report.drawing import AFTER, ALARM, BEFORE, FAINT, INK, OTHER, fit, plain_ticks, svg
from becalm.report.drawing import figure as picture
from becalm.report.tune import response, tables
from becalm.results.tune import Arm, TuneVerdict
from becalm.results.tune_arms import BASELINE, RECOMMENDED, TUNED, WITHOUT
from becalm.wording import tune as sentences
from becalm.wording.numbers import duration
from becalm.wording.short_names import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REACH = 5.0
"""The reach of an axis of single runs, in ranges of nine in ten runs: one very slow run must not hide the rest."""

ROW = 0.42
"""The height of a row in inches."""


def course(verdict: TuneVerdict) -> str:
    """Return the plot of every trial's result in the order of the search, with the best so far."""
    tried = [step for step in verdict.trials if step.spread is not None and step.spread > 0]
    if len(tried) < 2:
        return ""
    with picture(3.3) as (figure, axes):
        scaled = partial(_seconds, _scale(verdict)) if tables.timed(verdict) else _percent
        higher = verdict.metric is not None and verdict.metric.higher and tables.timed(verdict)
        best = (np.maximum if higher else np.minimum).accumulate([scaled(step.spread) for step in tried])
        numbers = [step.number for step in tried]
        axes.step(numbers, best, where="post", color=AFTER, linewidth=1.5)
        for best_trial, face in ((False, "none"), (True, AFTER)):
            steps = [step for step in tried if step.best is best_trial]
            edge = AFTER if best_trial else OTHER
            points = [step.number for step in steps], [scaled(step.spread) for step in steps]
            axes.scatter(*points, s=26, facecolors=face, edgecolors=edge, zorder=3)
        for step in verdict.trials:
            if step.spread is None:
                axes.plot([step.number], [0.97], "x", color=ALARM, transform=axes.get_xaxis_transform())
        axes.set_yscale("log")
        _marks(axes, _confirmed(verdict))
        axes.set_xlabel("trial")
        axes.set_ylabel(
            f"{response.name(verdict)}, {_scale(verdict)[0]}".rstrip(", ") if tables.timed(verdict) else "spread, %"
        )
        plain_ticks(axes.yaxis, axes.get_ylim())
        axes.grid(True, axis="y", color=FAINT, linewidth=0.6)
        failed = "; ".join(["", *tables.unfinished(verdict)])
        if tables.timed(verdict):
            values = [step.spread or 0.0 for step in tried]
            first, last = (
                response.shown(verdict, value) for value in (values[0], max(values) if higher else min(values))
            )
            quantity = response.name(verdict).capitalize()
            course = f"of each of {len(verdict.trials)} trials in the order of the search"
            description = f"{quantity} {course}: from {first} in the first to {last} at best{failed}."
            return svg(figure, "course", description)
        return svg(
            figure,
            "course",
            f"Spread of each of {len(verdict.trials)} trials in the order of the search, on a logarithmic axis: from "
            f"{sentences.share(tried[0].spread or 0.0)} in the first to {best[-1]:.2g} % at best"
            f"{failed}.",
        )


def _confirmed(verdict: TuneVerdict) -> list[tuple[float, str, str]]:
    """Return the lines in the plot of trials for the fresh runs of the first program."""
    lead = sentences.headline(verdict)[:1]
    arms = {arm.name: arm for arm in verdict.arms if lead and arm.program == lead[0].program and arm.runs}
    chosen = [(BASELINE, BEFORE), *((comparison.arm, AFTER) for comparison in lead)]
    if tables.timed(verdict):
        times = {name: _seconds(_scale(verdict), response.level(verdict, arm).value) for name, arm in arms.items()}
    else:
        times = {name: _percent(arm.spread.value) for name, arm in arms.items()}
    return [(times[name], tables.arm_name(name), color) for name, color in chosen if name in arms]


def _scale(verdict: TuneVerdict) -> tuple[str, float]:
    """Return the unit of an axis of times and its size in ns: the unit in which the baseline is written."""
    if verdict.metric is not None:
        return verdict.metric.unit, 1.0
    usual = next((arm.mean_ns.value for arm in verdict.arms if arm.name == BASELINE and arm.runs), None)
    least = usual or min((step.spread for step in verdict.trials if step.spread), default=1e9)
    unit = duration(least).rpartition(" ")[2]
    return unit, {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9}[unit]


def _seconds(scale: tuple[str, float], ns: float | None) -> float:
    return (ns or 0.0) / scale[1]


def _marks(axes: Axes, marks: Sequence[tuple[float, str, str]]) -> None:
    for value, _, color in marks:
        axes.axhline(value, color=color, linewidth=1, linestyle=(0, (4, 3)))
    low, high = axes.get_ylim()
    values = [value for value, _, _ in marks]
    # Labels that would overlap are above and below their lines.
    close = len(values) > 1 and math.log(max(values) / min(values)) < 0.08 * math.log(high / low)
    for number, (value, label, color) in enumerate(marks):
        above = value == max(values) and number == values.index(value)
        axes.annotate(
            label,
            (1.0, value),
            xytext=(5, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            color=color,
            va=("bottom" if above else "top") if close else "center",
        )


def scatter(verdict: TuneVerdict, program: str) -> str:
    """Return the plot of every arm: single runs around their mean, and the spread with its interval."""
    arms = [arm for arm in tables.shown(verdict, program) if arm.deviations]
    if not arms:
        return ""
    height = 0.95 + ROW * len(arms)
    with picture(height, columns=2, width_ratios=(3, 2)) as (figure, both):
        runs, spreads = both
        reach = REACH * max(max(abs(arm.deviations[1]), abs(arm.deviations[-2])) for arm in arms)
        for row, arm in enumerate(arms):
            color = _color(arm)
            _box(runs, row, arm.deviations, color, 100 * reach)
            if tables.timed(verdict):
                mean = response.level(verdict, arm)
                ends = (_seconds(_scale(verdict), end) for end in (mean.value, mean.low, mean.high))
                _interval(spreads, row, Interval(*ends), color)
                continue
            spreads.plot([_percent(x) for x in arm.loops], [row] * len(arm.loops), "|", color=color, alpha=0.45)
            _interval(spreads, row, arm.spread, color, 100.0)
        _rows(runs, [tables.arm_name(arm.name) for arm in arms])
        _rows(spreads, [""] * len(arms))
        runs.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
        runs.set_xlabel("single runs, % from the mean of their loop")
        spreads.grid(True, axis="x", color=FAINT, linewidth=0.6)
        if tables.timed(verdict):
            spreads.set_xlabel(f"mean {response.name(verdict)}, {_scale(verdict)[0]}".rstrip(", "))
            means = "; ".join(
                f"{tables.arm_name(arm.name)} {response.shown(verdict, response.level(verdict, arm).value)}"
                for arm in arms
            )
            return svg(
                figure, f"variation-{program}", f"Single runs of {program}, and mean {response.name(verdict)}: {means}."
            )
        spreads.set_xscale("log")
        spreads.set_xlabel("spread, %")
        plain_ticks(spreads.xaxis, spreads.get_xlim())
        values = "; ".join(f"{tables.arm_name(arm.name)} {sentences.share(arm.spread.value)}" for arm in arms)
        return svg(figure, f"variation-{program}", f"Variation of single runs of {program}, and spreads: {values}.")


def contributions(verdict: TuneVerdict, program: str) -> str:
    """Return the plot of the ratio of spreads without and with each knob, with intervals."""
    rows = [
        contribution
        for contribution in verdict.contributions
        if contribution.program == program and contribution.ratio.value > 0
    ]
    if not rows:
        return ""
    with picture(1.0 + ROW * len(rows)) as (figure, axes):
        limit = 1 + verdict.margin
        axes.axvspan(0.01, limit, color=FAINT, alpha=0.35, linewidth=0, zorder=0)
        axes.axvline(1.0, color=INK, linewidth=0.8, zorder=1)
        for row, contribution in enumerate(rows):
            color = {"helps": AFTER, "expendable": OTHER}.get(tables.decision(contribution, verdict), BEFORE)
            _interval(axes, row, contribution.ratio, color)
            axes.annotate(
                tables.decision(contribution, verdict),
                (1.0, row),
                xytext=(6, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                va="center",
                color=color,
            )
        _rows(axes, [f"without {contribution.knob}" for contribution in rows])
        axes.set_xscale("log")
        ratios = (contribution.ratio for contribution in rows)
        ends = [end for ratio in ratios for end in (ratio.low, ratio.high, ratio.value)]
        ends = [end for end in ends if 0.01 < end < 100] + [1.0, limit]
        axes.set_xlim(min(ends) / 1.15, max(ends) * 1.15)
        plain_ticks(axes.xaxis, axes.get_xlim())
        label = response.without(verdict) if tables.timed(verdict) else "times the spread"
        axes.set_xlabel(f"{label} that the chosen settings have")
        effects = "; ".join(
            f"without {c.knob} {sentences.factor(c.ratio)}, {tables.decision(c, verdict)}" for c in rows
        )
        return svg(figure, f"contributions-{program}", f"{label.capitalize()} of {program} when left out: {effects}.")


def costs(verdict: TuneVerdict, program: str) -> str:
    """Return the plot of the change of the mean time by each knob with a cost of its own, and by all together."""
    if tables.timed(verdict):
        # These costs equal the gains.
        return ""
    without = tables.no_cost(verdict, program)
    rows = [
        (contribution.knob, contribution.cost)
        for contribution in verdict.contributions
        if contribution.program == program and contribution.knob not in without
    ]
    rows += [
        (f"{'all ' if _ours(comparison.arm) else 'profile '}{tables.arm_name(comparison.arm)}", comparison.shift)
        for comparison in verdict.comparisons
        if comparison.program == program and not comparison.arm.startswith(WITHOUT)
    ]
    rows = [(name, cost) for name, cost in rows if math.isfinite(cost.value)]
    if not rows:
        return ""
    with picture(1.0 + ROW * len(rows), fitted=True) as (figure, axes):
        axes.axvline(0.0, color=INK, linewidth=0.8, zorder=1)
        for row, (_, cost) in enumerate(rows):
            _interval(axes, row, cost, ALARM if cost.low > 0 else AFTER if cost.high < 0 else OTHER, 100.0)
        _rows(axes, [name for name, _ in rows])
        ends = [100 * e for _, c in rows for e in (c.value, c.low, c.high) if abs(e) < 10 * (0.01 + abs(c.value))]
        pad = 0.06 * (max(0.0, *ends) - min(0.0, *ends)) or 0.1
        axes.set_xlim(min(0.0, *ends) - pad, max(0.0, *ends) + pad)
        axes.set_xlabel("change of the mean time, % (right: slower)")
        axes.grid(True, axis="x", color=FAINT, linewidth=0.6)
        changes = "; ".join(f"{name} {sentences.change(cost)}" for name, cost in rows)
        fit(figure, axes)
        return svg(figure, f"costs-{program}", f"Change of the mean time of {program}: {changes}.")


def _color(arm: Arm) -> str:
    return BEFORE if arm.name == BASELINE else OTHER if not _ours(arm.name) else AFTER


def _ours(name: str) -> bool:
    return name in (TUNED, RECOMMENDED) or name.startswith(WITHOUT)


def _percent(value: float | None) -> float:
    return 100 * (value or 0.0)


def _interval(axes: Axes, row: int, interval: Interval, color: str, scale: float = 1.0) -> None:
    low, high = scale * max(interval.low, -1e6), scale * min(interval.high, 1e6)
    axes.plot([low, high], [row, row], color=color, linewidth=2, solid_capstyle="butt")
    axes.plot([low, high], [row, row], "|", color=color, markersize=8, markeredgewidth=2)
    axes.plot([scale * interval.value], [row], "o", color=color, markersize=6)


def _box(axes: Axes, row: int, quantiles: Sequence[float], color: str, reach: float) -> None:
    """Draw the middle half as a box, 90 % as a line, and the extreme runs as points, or as arrows beyond `reach`."""
    least, low, left, middle, right, high, most = (100 * q for q in quantiles)
    axes.plot([low, high], [row, row], color=color, linewidth=1.2)
    axes.barh(row, right - left, left=left, height=0.46, color=color, alpha=0.35, linewidth=0)
    axes.plot([middle, middle], [row - 0.23, row + 0.23], color=color, linewidth=2)
    for value in (least, most):
        beyond = "." if abs(value) <= reach or not reach else ">" if value > 0 else "<"
        axes.plot([min(max(value, -reach), reach)], [row], beyond, color=color, markersize=4)


def _rows(axes: Axes, names: Sequence[str]) -> None:
    # Next to another plot with the same rows, rows have neither names nor numbers.
    axes.set_yticks(range(len(names)), short(names, 34) if any(names) else names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
