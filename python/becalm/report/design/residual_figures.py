"""Plots of a fit's residuals, its power and its effects, as SVG for a page (`becalm.report.drawing`).

Each is one panel, so that a page can show them next to each other, and a phone below each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from becalm.report.design.axes import ROOM, factor_axis, grid
from becalm.report.design.surface_figures import movers
from becalm.report.drawing import AFTER, ALARM, BEFORE, FAINT, HALF, INK, OTHER, THIRD, figure, fit, svg
from becalm.results.design_fit import DesignFit, FittedRun, ResponseFit
from becalm.wording.design import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST = 3
"""The number of residuals below which nothing is drawn."""

DASHES = (0, (4, 3))

FAR = 3.0
"""The number of standard errors above which a residual is drawn as an alarm."""


def judged(response_fit: ResponseFit) -> list[FittedRun]:
    """Return the runs that have a residual to judge; empty when they are too few for a plot."""
    runs = [run for run in response_fit.fitted if not math.isnan(run.studentised)]
    return runs if len(runs) >= LEAST else []


def normal(response_fit: ResponseFit) -> str:
    """Return the normal plot of the studentised residuals."""
    if not (runs := judged(response_fit)):
        return ""
    with figure(3.0, width=HALF, margins=ROOM) as (picture, axes):
        scores = [run.score for run in runs]
        _points(axes, scores, [run.studentised for run in runs])
        ends = max(abs(min(scores)), max(scores)) * 1.1
        axes.plot([-ends, ends], [-ends, ends], color=INK, linewidth=0.9)
        axes.set_xlabel("normal score")
        axes.set_ylabel("studentised residual")
        grid(axes)
        most = max(runs, key=lambda run: abs(run.studentised))
        largest = f"the largest is {number(most.studentised, 3)}, of run {most.run}"
        return svg(
            picture,
            f"normal-{response_fit.name}",
            f"Studentised residuals of {len(runs)} runs of {response_fit.name} over normal scores; {largest}.",
        )


def over_fitted(response_fit: ResponseFit) -> str:
    """Return the plot of residuals over fitted values."""
    if not (runs := judged(response_fit)):
        return ""
    with figure(3.0, width=HALF, margins=ROOM) as (picture, axes):
        _residuals(axes, [run.fitted for run in runs], [run.studentised for run in runs])
        axes.set_xlabel(f"{response_fit.name} as the model has it")
        axes.set_ylabel("studentised residual")
        return svg(
            picture, f"fitted-{response_fit.name}", f"Studentised residuals of {response_fit.name} over fitted values."
        )


def measured_over_fitted(response_fit: ResponseFit) -> str:
    """Return the plot of measured over fitted values."""
    if not (runs := judged(response_fit)):
        return ""
    with figure(3.0, width=HALF, margins=ROOM) as (picture, axes):
        across, up = [run.fitted for run in runs], [run.observed for run in runs]
        ends = min(*across, *up), max(*across, *up)
        axes.plot(ends, ends, color=INK, linewidth=0.9)
        far = [abs(run.studentised) > FAR for run in runs]
        _points(axes, across, up, far)
        axes.set_xlabel(f"{response_fit.name} as the model has it")
        axes.set_ylabel(f"{response_fit.name} as measured")
        grid(axes)
        return svg(
            picture, f"measured-{response_fit.name}", f"Measured over fitted {response_fit.name} of {len(runs)} runs."
        )


def in_order(response_fit: ResponseFit) -> str:
    """Return the plot of residuals in the order of the runs."""
    if not (runs := sorted(judged(response_fit), key=lambda fitted: fitted.run)):
        return ""
    with figure(3.0, width=HALF, margins=ROOM) as (picture, axes):
        numbers = [run.run for run in runs]
        values = [run.studentised for run in runs]
        if len(runs) <= 100:
            axes.plot(numbers, values, color=FAINT, linewidth=1)
        _residuals(axes, numbers, values)
        for place in _between_blocks(runs):
            axes.axvline(place, color=INK, linewidth=0.8, linestyle=DASHES)
        _run_numbers(axes)
        axes.set_ylabel("studentised residual")
        return svg(
            picture, f"order-{response_fit.name}", f"Residuals of {response_fit.name} in the order of {len(runs)} runs."
        )


def _between_blocks(runs: Sequence[FittedRun]) -> Iterator[float]:
    """Yield the places between blocks; nothing where the runs of blocks are mixed."""
    changes = [(run.run + next_run.run) / 2 for run, next_run in pairwise(runs) if run.block != next_run.block]
    if len(changes) < len({run.block for run in runs}):
        yield from changes


def leverage(response_fit: ResponseFit) -> str:
    """Return the plot of the leverage of each run."""
    if not (runs := sorted(judged(response_fit), key=lambda fitted: fitted.run)):
        return ""
    with figure(2.7, width=HALF, margins=ROOM) as (picture, axes):
        mean = _mean_leverage(response_fit)
        _bars(axes, runs, [run.leverage for run in runs], 2 * mean)
        axes.axhline(mean, color=INK, linewidth=0.9)
        if 2 * mean < 1:
            axes.axhline(2 * mean, color=INK, linewidth=0.9, linestyle=DASHES)
        axes.set_ylim(0, 1.03)
        axes.set_ylabel("leverage")
        most = max(runs, key=lambda run: run.leverage)
        description = f"at most {number(most.leverage, 3)}, of run {most.run}; their mean is {number(mean, 3)}"
        return svg(
            picture,
            f"leverage-{response_fit.name}",
            f"Leverage of {len(runs)} runs of {response_fit.name}: {description}.",
        )


def _mean_leverage(response_fit: ResponseFit) -> float:
    return sum(run.leverage for run in response_fit.fitted) / len(response_fit.fitted)


def cook(response_fit: ResponseFit) -> str:
    """Return the plot of Cook's distance of each run."""
    if not (runs := sorted(judged(response_fit), key=lambda fitted: fitted.run)):
        return ""
    with figure(2.7, width=HALF, margins=ROOM) as (picture, axes):
        _bars(axes, runs, [run.cook for run in runs], 1.0)
        most = max(runs, key=lambda run: run.cook)
        if most.cook > 0.5:
            axes.axhline(1.0, color=INK, linewidth=0.9, linestyle=DASHES)
        axes.set_ylim(0, max(1.05 * most.cook, 0.1))
        axes.set_ylabel("Cook's distance")
        largest = f"at most {number(most.cook, 3)}, of run {most.run}"
        return svg(
            picture,
            f"cook-{response_fit.name}",
            f"Cook's distance of {len(runs)} runs of {response_fit.name}: {largest}.",
        )


def _run_numbers(axes: Axes) -> None:
    """Label the axis of the runs by whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_xlabel("number of the run")


def _bars(axes: Axes, runs: Sequence[FittedRun], values: Sequence[float], limit: float) -> None:
    """Draw a line for each run, and a point on those above a limit."""
    numbers = [run.run for run in runs]
    axes.vlines(numbers, 0, values, color=OTHER, linewidth=2 if len(runs) <= 60 else 0.8)
    high = [(at, value) for at, value in zip(numbers, values, strict=True) if value > limit]
    if high:
        axes.plot([at for at, _ in high], [value for _, value in high], "o", color=ALARM, markersize=5)
    _run_numbers(axes)
    grid(axes)


def over_factors(design_fit: DesignFit, response: ResponseFit) -> tuple[str, ...]:
    """Return the plots of residuals over each factor that is drawn."""
    runs = judged(response)
    values = [run.studentised for run in runs]
    pictures = []
    for index in movers(design_fit, response) if runs else ():
        factor = design_fit.factors[index]
        with figure(2.44, width=THIRD, margins=ROOM) as (picture, axes):
            coded = [run.coded[index] for run in runs]
            if factor.categorical:
                axes.set_xlim(-0.5, len(factor.choices) - 0.5)
            at = coded if factor.categorical else [float(factor.natural(place)) for place in coded]
            _residuals(axes, at, values)
            factor_axis(axes, True, factor, 4)
            axes.set_ylabel("studentised residual")
            name = f"factor-{index}-{response.name}"
            pictures.append(svg(picture, name, f"Studentised residuals of {response.name} over {factor.name}."))
    return tuple(pictures)


def power(response_fit: ResponseFit) -> str:
    """Return Box and Cox's curve with the interval of the power; empty without a curve."""
    if (curve := response_fit.box_cox) is None:
        return ""
    best = max(curve.likelihoods)
    with figure(3.0, width=5.2, fitted=True) as (picture, axes):
        axes.plot(curve.powers, curve.likelihoods, color=OTHER, linewidth=1.6)
        axes.axhline(curve.limit, color=INK, linewidth=0.9, linestyle=DASHES)
        ends = [max(curve.power.low, curve.powers[0]), min(curve.power.high, curve.powers[-1])]
        axes.axvspan(*ends, color=AFTER, alpha=0.18, linewidth=0)
        axes.axvline(1.0, color=BEFORE, linewidth=1.2)
        axes.plot([curve.power.value], [best], "o", color=AFTER, markersize=6)
        low = min(value for at, value in zip(curve.powers, curve.likelihoods, strict=True) if abs(at) <= 3)
        axes.set_ylim(min(low, curve.limit) - 0.05 * (best - low), best + 0.2 * (best - low))
        axes.set_xlim(curve.powers[0], curve.powers[-1])
        interval = f"{number(curve.power.value, 3)} ({number(ends[0], 3)} to {number(ends[1], 3)})"
        left = curve.power.value > 0
        axes.annotate(
            f"λ = {interval}", (0.02 if left else 0.98, 0.93), xycoords="axes fraction", color=AFTER,
            ha="left" if left else "right",
        )  # fmt: skip
        axes.annotate(
            "1: as measured", (1.0, 0.0), xytext=(4, 5), xycoords=("data", "axes fraction"),
            textcoords="offset points", color=BEFORE,
        )  # fmt: skip
        axes.set_xlabel("power λ of the response")
        axes.set_ylabel("log likelihood")
        grid(axes)
        fit(picture, axes)
        return svg(
            picture,
            f"power-{response_fit.name}",
            f"Log likelihood of powers of {response_fit.name}: best λ {interval}.",
        )


def half_normal(response_fit: ResponseFit) -> str:
    """Return the plot of absolute effects over half-normal scores; empty without effects."""
    if (table := response_fit.effects) is None:
        return ""
    with figure(3.3, width=5.2, fitted=True) as (picture, axes):
        for effect in table.effects:
            size = abs(effect.effect)
            axes.plot([effect.score], [size], "o", color=AFTER if effect.real else OTHER, markersize=6)
            if effect.real:
                axes.annotate(
                    effect.term,
                    (effect.score, size),
                    xytext=(-7, 3),
                    textcoords="offset points",
                    ha="right",
                    color=AFTER,
                )
        most = max(effect.score for effect in table.effects)
        axes.plot([0, 1.08 * most], [0, 1.08 * most * table.error], color=INK, linewidth=0.9)
        axes.axhline(table.margin, color=INK, linewidth=0.9, linestyle=DASHES)
        axes.set_xlim(0, 1.08 * most)
        axes.set_ylim(0, 1.12 * max(table.margin, *(abs(effect.effect) for effect in table.effects)))
        axes.set_xlabel("half-normal score")
        axes.set_ylabel("size of the effect")
        grid(axes)
        real = ", ".join(effect.term for effect in table.effects if effect.real) or "none"
        fit(picture, axes)
        return svg(
            picture,
            f"effects-{response_fit.name}",
            f"Half-normal plot of effects on {response_fit.name}; above the margin: {real}.",
        )


def _residuals(axes: Axes, at: Sequence[float], values: Sequence[float]) -> None:
    axes.axhline(0, color=INK, linewidth=0.9)
    _points(axes, at, values, [abs(value) > FAR for value in values])
    grid(axes)


def _points(axes: Axes, at: Sequence[float], up: Sequence[float], far: Sequence[bool] = ()) -> None:
    """Draw points, smaller and lighter the more there are; those marked `far` as an alarm."""
    many = len(at) > 100
    axes.plot(at, up, "o", color=OTHER, markersize=2.5 if many else 5, alpha=0.6 if many else 1.0, markeredgewidth=0)
    chosen = [(x, y) for x, y, odd in zip(at, up, far, strict=False) if odd]
    if chosen:
        axes.plot([x for x, _ in chosen], [y for _, y in chosen], "o", color=ALARM, markersize=5, markeredgewidth=0)
