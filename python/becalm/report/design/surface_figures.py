"""Plots of a fitted surface as SVG for a page: the response along each factor, its cube, contours, and a surface in
three dimensions.

The surface is computed from the coefficients of the report; factors that a plot does not show are set as at the best
place.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from becalm.report.design.axes import ROOM, factor_axis, folded, grid, labelled, natural, tick
from becalm.report.drawing import AFTER, BEFORE, HALF, INK, OTHER, THIRD, figure, svg
from becalm.results.design_fit import DesignFit, ResponseFit
from becalm.stats.arrays import Floats
from becalm.surfaces.box_cox import restored
from becalm.surfaces.polynomial import Polynomial
from becalm.surfaces.terms import Frame
from becalm.wording.design import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAIRS = 5
"""The number of contour plots, of the factors that matter most; the surface is next to the last one."""

LINES = 8
"""The number of lines of equal response, which are at round values."""

CURVES = 12
"""The number of factors along which the response is drawn: those that move it most."""

FINE, COARSE = 51, 21
"""The number of places along a factor of a contour plot, and of a surface."""

SHORT = 18
"""The length of a name on one line next to a surface in perspective, in characters."""

EDGE = (0.42, 0.3)
"""The offset of the back of the cube, in edges."""


def values(fit: DesignFit, response: ResponseFit, points: Floats) -> Floats:
    """Return the fitted response, shape (n,), at points in coded units, shape (n, factors)."""
    frame = Frame(tuple(len(factor.choices) for factor in fit.factors))
    terms = [coefficient for coefficient in response.coefficients if coefficient.exponents]
    nothing = (0,) * len(frame.variables)
    exponents = np.array([nothing, *(term.exponents for term in terms)])
    polynomial = Polynomial(exponents, np.array([response.constant, *(term.estimate for term in terms)]))
    fitted = polynomial(frame.expanded(points))
    return fitted if response.power is None else restored(fitted, response.power)


def ranked(fit: DesignFit, response: ResponseFit) -> list[int]:
    """Return the numbers of the factors with ranges, those first along which the response moves farthest from the best
    place."""
    centre = _centre(fit, response)
    moves = {}
    for index, factor in enumerate(fit.factors):
        if not factor.categorical:
            points = np.tile(centre, (11, 1))
            points[:, index] = np.linspace(-1, 1, 11)
            moves[index] = float(np.ptp(values(fit, response, points)))
    return sorted(moves, key=lambda move: (-moves[move], move))


def cube(fit: DesignFit, response: ResponseFit) -> str:
    """Return the plot of the response at the corners of the two or three most important factors."""
    chosen = sorted(ranked(fit, response)[:3])
    if response.best is None or len(chosen) < 2:
        return ""
    with figure(3.2 if len(chosen) == 3 else 2.6, width=5.2) as (picture, axes):
        corners = np.array(
            [[1 if number >> k & 1 else -1 for k in range(len(chosen))] for number in range(2 ** len(chosen))]
        )
        points = np.tile(_centre(fit, response), (len(corners), 1))
        points[:, chosen] = corners
        fitted = values(fit, response, points)
        flat = np.array([_projected(corner) for corner in corners])
        for first, second in combinations(range(len(corners)), 2):
            if (corners[first] != corners[second]).sum() == 1:
                axes.plot(*zip(flat[first], flat[second], strict=True), color=OTHER, linewidth=1.2, zorder=1)
        best_corner = fitted.argmax() if response.goal.kind == "max" else fitted.argmin()
        for place, (x, y) in enumerate(flat):
            best = response.goal.kind != "target" and place == best_corner
            axes.plot([x], [y], "o", color=AFTER if best else INK, markersize=7 if best else 5, zorder=3)
            # Labels of the front are outside of the cube, where no edge runs.
            front = len(chosen) == 3 and corners[place][2] < 0
            offset, across, up = ((-7, -4), "right", "top") if front else ((7, 6), "left", "bottom")
            axes.annotate(
                number(float(fitted[place])), (x, y), xytext=offset, textcoords="offset points", fontsize=10.5,
                ha=across, va=up, color=AFTER if best else INK, fontweight="bold" if best else "normal", zorder=4,
            )  # fmt: skip
        _edge_names(axes, fit, chosen)
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.margins(0.16)
        names = ", ".join(fit.factors[index].name for index in chosen)
        ends = f"{number(float(fitted.min()))} to {number(float(fitted.max()))}"
        return svg(picture, f"cube-{response.name}", f"Fitted {response.name} at the corners of {names}: from {ends}.")


def _projected(corner: Floats) -> tuple[float, float]:
    """Return the place at which a corner is drawn; the third factor leads to the back."""
    x, y = (corner[0] + 1) * 0.9, (corner[1] + 1) / 2
    if len(corner) == 3:
        x, y = x + EDGE[0] * (corner[2] + 1) / 2, y + EDGE[1] * (corner[2] + 1) / 2
    return float(x), float(y)


def _edge_names(axes: Axes, fit: DesignFit, chosen: list[int]) -> None:
    """Write the name of each factor with its two ends along its front edge."""
    spots = [((0.9, -0.02), (0, -16), "center", "top"), ((0, 0.5), (-10, 0), "right", "center")]
    spots.append(((1.8 + EDGE[0] / 2, EDGE[1] / 2), (12, -10), "left", "center"))
    for index, (place, offset, across, up) in zip(chosen, spots, strict=False):
        factor = fit.factors[index]
        low, high = (factor.worded(factor.natural(end)) for end in (-1.0, 1.0))
        text = f"{folded(factor.name, 16)}\n{low} to {high}"
        axes.annotate(text, place, xytext=offset, textcoords="offset points", ha=across, va=up, fontsize=9)


def contours(fit: DesignFit, response: ResponseFit) -> tuple[str, ...]:
    """Return plots of lines of equal response over pairs of the most important factors."""
    pairs = list(combinations(ranked(fit, response), 2))[:PAIRS]
    return () if response.best is None else tuple(_contour(fit, response, first, second) for first, second in pairs)


def _contour(fit: DesignFit, response: ResponseFit, first: int, second: int) -> str:
    from matplotlib.colors import to_rgba
    from matplotlib.ticker import MaxNLocator

    side = np.linspace(-1, 1, FINE)
    fitted = _over(fit, response, first, second, side)
    x, y = (np.array([natural(fit, index, at) for at in side]) for index in (first, second))
    with figure(3.2, width=HALF) as (picture, axes):
        for across, index in ((True, first), (False, second)):
            factor_axis(axes, across, fit.factors[index], 5)
        if np.ptp(fitted) > 0:
            levels = MaxNLocator(LINES).tick_values(float(fitted.min()), float(fitted.max()))
            shades = [to_rgba(OTHER, 0.04 + 0.5 * step / len(levels)) for step in range(len(levels) - 1)]
            axes.contourf(x, y, fitted, levels=levels, colors=shades)
            lines = axes.contour(x, y, fitted, levels=levels, colors=[OTHER], linewidths=0.9)
            axes.clabel(lines, fmt=lambda value: number(float(value)), fontsize=8.5, colors=[INK], inline_spacing=3)
        _runs(axes, fit, response, first, second)
        assert response.best is not None
        best = [natural(fit, index, response.best.at.coded[index]) for index in (first, second)]
        axes.plot(*([coordinate] for coordinate in best), "*", color=BEFORE, markersize=13, clip_on=False, zorder=5)
        axes.set_xlim(x[0], x[-1])
        axes.set_ylim(y[0], y[-1])
        names = f"{fit.factors[first].name} and {fit.factors[second].name}"
        return svg(
            picture, f"contours-{first}-{second}-{response.name}", f"Lines of equal {response.name} over {names}."
        )


def _runs(axes: Axes, fit: DesignFit, response: ResponseFit, first: int, second: int) -> None:
    """Draw the places of the runs, whatever the other factors were set to."""
    seen = {(round(run.coded[first], 6), round(run.coded[second], 6)) for run in response.fitted}
    inside = sorted(place for place in seen if max(map(abs, place)) <= 1)
    across, up = ([natural(fit, index, place[side]) for place in inside] for side, index in enumerate((first, second)))
    few = len(inside) <= 100
    axes.plot(across, up, "o", color=INK, markersize=3.5 if few else 1.5, clip_on=False, markeredgewidth=0)


def solid(fit: DesignFit, response: ResponseFit) -> str:
    """Return the plot of the response over the two most important factors, in three dimensions."""
    chosen = ranked(fit, response)[:2]
    if response.best is None or len(chosen) < 2:
        return ""
    first, second = chosen
    side = np.linspace(-1, 1, COARSE)
    fitted = _over(fit, response, first, second, side)
    span = float(np.ptp(fitted))
    with figure(3.2, projection="3d", width=HALF) as (picture, axes):
        x, y = np.meshgrid(side, side)
        from matplotlib.colors import to_rgba
        from matplotlib.ticker import MaxNLocator

        # The higher, the darker: the shades of the contour plots.
        heights = (fitted - fitted.min()) / (span or 1.0)
        shades = np.array([[to_rgba(OTHER, 0.1 + 0.55 * float(height)) for height in row] for row in heights])
        axes.plot_surface(
            x, y, fitted, facecolors=shades, edgecolor=to_rgba(OTHER, 0.7), linewidth=0.4, shade=False,
            rcount=COARSE, ccount=COARSE,
        )  # fmt: skip
        floor = float(fitted.min()) - 0.25 * (span or 1.0)
        if span > 0:
            axes.contour(x, y, fitted, levels=7, zdir="z", offset=floor, colors=[OTHER], linewidths=0.7)
        axes.set_zlim(floor, float(fitted.max()))
        best = response.best.at
        axes.plot([best.coded[first]], [best.coded[second]], [best.value], "*", color=BEFORE, markersize=13, zorder=9)
        corner = ""
        for axis, index in ((axes.xaxis, first), (axes.yaxis, second)):
            factor = fit.factors[index]
            ends = [tick(factor, natural(fit, index, at)) for at in (-1.0, 0.0, 1.0)]
            # Both axes begin in one corner, where two labels would overlap.
            axis.set_ticks([-1, 0, 1], ["" if ends[0] == corner else ends[0], *ends[1:]])
            corner = ends[0]
            name = folded(labelled(factor), SHORT)
            axis.set_label_text(name)
            axis.labelpad = 9 + 6 * name.count("\n")
            axis.set_tick_params(pad=-1, labelsize=8.5)
            # Labels point away from the corner, to the side to which each axis goes.
            side_of = "left" if (axis is axes.xaxis) == (response.goal.kind == "min") else "right"
            for label in axis.get_ticklabels():
                label.set_horizontalalignment(side_of)
        axes.zaxis.set_rotate_label(False)
        axes.zaxis.set_label_text(response.name, rotation=90)
        axes.zaxis.set_major_locator(MaxNLocator(5))
        axes.zaxis.set_tick_params(labelsize=8.5)
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.set_pane_color((0, 0, 0, 0))
            axis.line.set_color(INK)
        axes.view_init(elev=24, azim=-128 if response.goal.kind == "min" else -58)
        axes.set_box_aspect((1.25, 1.25, 0.85), zoom=0.9)
        # matplotlib leaves room for texts that are absent.
        picture.set_layout_engine("none")
        axes.set_position((0.04, 0.03, 0.93, 1.05))
        names = f"{fit.factors[first].name} and {fit.factors[second].name}"
        ends_of_response = f"from {number(float(fitted.min()))} to {number(float(fitted.max()))}"
        return svg(
            picture, f"surface-{response.name}", f"{response.name} as a surface over {names}: {ends_of_response}."
        )


def movers(fit: DesignFit, response: ResponseFit) -> list[int]:
    """Return the numbers of the factors that are drawn by themselves, in order: those that move the response most, or
    the first ones if the fit has no curves."""
    most = sorted(response.curves, key=lambda curve: -float(np.ptp(curve.values)))[:CURVES]
    return sorted(curve.factor for curve in most) or list(range(len(fit.factors)))[:CURVES]


def curves(fit: DesignFit, response: ResponseFit) -> tuple[str, ...]:
    """Return plots of the response along each factor through the best place, with its interval, on one scale."""
    moving = movers(fit, response)
    plotted = [curve for curve in response.curves if curve.factor in moving]
    ends = [end for curve in plotted for end in (*curve.low, *curve.high) if math.isfinite(end)]
    if response.best is None or not ends:
        return ()
    pad = 0.04 * (max(ends) - min(ends))
    pictures = []
    for curve in sorted(plotted, key=lambda curve: curve.factor):
        factor, at = fit.factors[curve.factor], response.best.at.coded[curve.factor]
        with figure(2.54, width=THIRD, margins=ROOM) as (picture, axes):
            if factor.categorical:
                errors = [[v - e for v, e in zip(curve.values, curve.low, strict=True)],
                          [e - v for v, e in zip(curve.values, curve.high, strict=True)]]  # fmt: skip
                axes.errorbar(
                    curve.coded, curve.values, yerr=errors, fmt="o", color=OTHER, elinewidth=2, markersize=5, capsize=4
                )
                axes.set_xlim(-0.5, len(factor.choices) - 0.5)
                star = at
            else:
                across = [natural(fit, curve.factor, place) for place in curve.coded]
                axes.fill_between(across, curve.low, curve.high, color=OTHER, alpha=0.2, linewidth=0)
                axes.plot(across, curve.values, color=OTHER, linewidth=1.6)
                star = natural(fit, curve.factor, at)
            factor_axis(axes, True, factor, 4)
            if not factor.categorical:
                axes.set_xlim(factor.low, factor.high)
            axes.plot([star], [response.best.at.value], "*", color=BEFORE, markersize=11, clip_on=False, zorder=5)
            axes.set_ylim(min(ends) - pad, max(ends) + pad)
            axes.set_ylabel(response.name)
            grid(axes)
            span = f"from {number(min(curve.values))} to {number(max(curve.values))}"
            name = f"curve-{curve.factor}-{response.name}"
            pictures.append(svg(picture, name, f"{response.name} along {factor.name} through the best place: {span}."))
    return tuple(pictures)


def _over(fit: DesignFit, response: ResponseFit, first: int, second: int, side: Floats) -> Floats:
    """Return the response over two factors, shape (len(side), len(side)), the first along the second axis."""
    x, y = np.meshgrid(side, side)
    points = np.tile(_centre(fit, response), (x.size, 1))
    points[:, first], points[:, second] = x.ravel(), y.ravel()
    return values(fit, response, points).reshape(x.shape)


def _centre(fit: DesignFit, response: ResponseFit) -> Floats:
    if response.best is None:
        return np.zeros(len(fit.factors))
    return np.array(response.best.at.coded)
