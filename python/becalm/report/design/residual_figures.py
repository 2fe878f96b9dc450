"""Pictures of a fit's residuals, its power and its effects, as SVG to be put into a page (`becalm.report.drawing`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from becalm.nouns.design_fit import DesignFit, ResponseFit
from becalm.nouns.domain import Scale
from becalm.report.drawing import AFTER, ALARM, BEFORE, FAINT, INK, OTHER, figure, plain_ticks, svg
from becalm.wording.design import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS = 3
"""Factors that are drawn beside each other."""


def normal_and_fitted(found: ResponseFit) -> str:
    """Normal plot of the studentised residuals, and these over the fitted values."""
    runs = [each for each in found.fitted if not math.isnan(each.studentised)]
    if len(runs) < 3:
        return ""
    with figure(3.1, columns=2) as (drawn, (left, right)):
        scores = [each.score for each in runs]
        left.plot(scores, [each.studentised for each in runs], "o", color=OTHER, markersize=5)
        ends = max(abs(min(scores)), max(scores)) * 1.1
        left.plot([-ends, ends], [-ends, ends], color=INK, linewidth=0.9)
        left.set_xlabel("normal score")
        left.set_ylabel("studentised residual")
        _residuals(right, [each.fitted for each in runs], [each.studentised for each in runs])
        right.set_xlabel(f"fitted {found.name}")
        for axes in (left, right):
            axes.grid(True, color=FAINT, linewidth=0.5)
        most = max(runs, key=lambda each: abs(each.studentised))
        return svg(
            drawn,
            f"residuals-{found.name}",
            f"Studentised residuals of {len(runs)} runs over normal scores and over fitted values; the largest is "
            f"{number(most.studentised, 3)}, of run {most.run}.",
        )


def order_and_cook(found: ResponseFit) -> str:
    """Residuals in the order of the runs, and Cook's distance."""
    runs = sorted((each for each in found.fitted if not math.isnan(each.studentised)), key=lambda each: each.run)
    if len(runs) < 3:
        return ""
    with figure(2.8, columns=2) as (drawn, (left, right)):
        numbers = [each.run for each in runs]
        values = [each.studentised for each in runs]
        left.plot(numbers, values, color=FAINT, linewidth=1)
        _residuals(left, numbers, values)
        left.set_xlabel("run")
        left.set_ylabel("studentised residual")
        right.vlines(numbers, 0, [each.cook for each in runs], color=OTHER, linewidth=2)
        for each in runs:
            if each.cook > 1:
                right.plot([each.run], [each.cook], "o", color=ALARM, markersize=6)
        right.set_ylim(0, max(1.05 * max(each.cook for each in runs), 0.1))
        right.set_xlabel("run")
        right.set_ylabel("Cook's distance")
        for axes in (left, right):
            axes.grid(True, color=FAINT, linewidth=0.5)
        most = max(runs, key=lambda each: each.cook)
        return svg(
            drawn,
            f"order-{found.name}",
            f"Residuals in the order of {len(runs)} runs, and Cook's distance: at most {number(most.cook, 3)}, of run "
            f"{most.run}.",
        )


def over_factors(found: DesignFit, response: ResponseFit) -> str:
    """Residuals over each factor."""
    runs = [each for each in response.fitted if not math.isnan(each.studentised)]
    if len(runs) < 3:
        return ""
    count = len(found.factors)
    rows, columns = -(-count // ACROSS), min(ACROSS, count)
    with figure(0.5 + 2.0 * rows, columns, rows=rows) as (drawn, every):
        places = np.atleast_1d(every).ravel()
        for index, (axes, factor) in enumerate(zip(places, found.factors, strict=False)):
            if factor.categorical:
                _residuals(axes, [each.coded[index] for each in runs], [each.studentised for each in runs])
                axes.set_xticks(range(len(factor.choices)), factor.choices)
                axes.set_xlim(-0.5, len(factor.choices) - 0.5)
            else:
                at = [float(factor.natural(each.coded[index])) for each in runs]
                _residuals(axes, at, [each.studentised for each in runs])
                if factor.scale is Scale.LOG:
                    axes.set_xscale("log")
                    plain_ticks(axes.xaxis, axes.get_xlim())
            axes.set_xlabel(f"{factor.name}, {factor.unit}" if factor.unit else factor.name)
            axes.grid(True, color=FAINT, linewidth=0.5)
            if index % columns == 0:
                axes.set_ylabel("studentised residual")
        for axes in places[count:]:
            axes.set_axis_off()
        names = ", ".join(each.name for each in found.factors)
        return svg(drawn, f"factors-{response.name}", f"Studentised residuals of {response.name} over {names}.")


def power(found: ResponseFit) -> str:
    """Box and Cox's curve."""
    if (curve := found.box_cox) is None:
        return ""
    best = max(curve.likelihoods)
    with figure(2.7) as (drawn, axes):
        axes.plot(curve.powers, curve.likelihoods, color=OTHER, linewidth=1.6)
        axes.axhline(curve.limit, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
        ends = [max(curve.power.low, curve.powers[0]), min(curve.power.high, curve.powers[-1])]
        axes.axvspan(*ends, color=AFTER, alpha=0.18, linewidth=0)
        axes.axvline(1.0, color=BEFORE, linewidth=1.2)
        axes.plot([curve.power.value], [best], "o", color=AFTER, markersize=6)
        low = min(value for at, value in zip(curve.powers, curve.likelihoods, strict=True) if abs(at) <= 3)
        axes.set_ylim(min(low, curve.limit) - 0.05 * (best - low), best + 0.08 * (best - low))
        axes.set_xlabel("power of the response")
        axes.set_ylabel("log likelihood")
        axes.grid(True, color=FAINT, linewidth=0.5)
        told = f"best {number(curve.power.value, 3)}, from {number(ends[0], 3)} to {number(ends[1], 3)}"
        return svg(drawn, f"power-{found.name}", f"Log likelihood of powers of {found.name}: {told}.")


def half_normal(found: ResponseFit) -> str:
    """Sizes of effects over half-normal scores."""
    if (made := found.effects) is None:
        return ""
    with figure(3.4) as (drawn, axes):
        for each in made.effects:
            size = abs(each.effect)
            axes.plot([each.score], [size], "o", color=AFTER if each.real else OTHER, markersize=6)
            if each.real:
                axes.annotate(
                    each.term, (each.score, size), xytext=(-7, 3), textcoords="offset points", ha="right", color=AFTER
                )
        most = max(each.score for each in made.effects)
        axes.plot([0, 1.08 * most], [0, 1.08 * most * made.error], color=INK, linewidth=0.9)
        axes.axhline(made.margin, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.set_xlim(0, 1.08 * most)
        axes.set_ylim(0, 1.1 * max(made.margin, *(abs(each.effect) for each in made.effects)))
        axes.set_xlabel("half-normal score")
        axes.set_ylabel("size of the effect")
        axes.grid(True, color=FAINT, linewidth=0.5)
        real = ", ".join(each.term for each in made.effects if each.real) or "none"
        return svg(
            drawn, f"effects-{found.name}", f"Half-normal plot of effects on {found.name}; above the margin: {real}."
        )


def _residuals(axes: Axes, at: list[float] | list[int], values: list[float]) -> None:
    axes.axhline(0, color=INK, linewidth=0.9)
    axes.plot(at, values, "o", color=OTHER, markersize=5)
    far = [(x, y) for x, y in zip(at, values, strict=True) if abs(y) > 3]
    if far:
        axes.plot([x for x, _ in far], [y for _, y in far], "o", color=ALARM, markersize=6)
