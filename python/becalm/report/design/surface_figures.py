"""Pictures of a fitted surface as SVG to be put into a page: response cube, contours, the surface in three dimensions.

The surface is made anew from the coefficients that the report has; factors that a picture does not show are set as at
the best place.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from becalm.nouns.design_fit import DesignFit, ResponseFit
from becalm.nouns.domain import Scale
from becalm.report.drawing import AFTER, BEFORE, INK, OTHER, figure, plain_ticks, svg
from becalm.stats.arrays import Floats
from becalm.surfaces.box_cox import restored
from becalm.surfaces.polynomial import Polynomial
from becalm.surfaces.terms import Frame
from becalm.wording.design import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAIRS = 4
"""Contour plots that are drawn: of the factors that matter most."""

FINE, COARSE = 61, 21
"""Places along a factor of a contour plot, and of a surface."""

EDGE = (0.42, 0.3)
"""Where the back of the cube stands, in edges."""


def values(found: DesignFit, response: ResponseFit, points: Floats) -> Floats:
    """The fitted response at points in coded units, shape (n, factors)."""
    frame = Frame(tuple(len(each.choices) for each in found.factors))
    terms = [each for each in response.coefficients if each.exponents]
    nothing = (0,) * len(frame.variables)
    exponents = np.array([nothing, *(each.exponents for each in terms)])
    polynomial = Polynomial(exponents, np.array([response.constant, *(each.estimate for each in terms)]))
    fitted = polynomial(frame.expanded(points))
    return fitted if response.power is None else restored(fitted, response.power)


def ranked(found: DesignFit, response: ResponseFit) -> list[int]:
    """Numbers of the ranges by how far the response moves along each, from the best place; the farthest first."""
    centre = _centre(found, response)
    moves = {}
    for index, factor in enumerate(found.factors):
        if not factor.categorical:
            points = np.tile(centre, (11, 1))
            points[:, index] = np.linspace(-1, 1, 11)
            moves[index] = float(np.ptp(values(found, response, points)))
    return sorted(moves, key=lambda each: (-moves[each], each))


def cube(found: DesignFit, response: ResponseFit) -> str:
    """The response at the corners of the two or three factors that matter most."""
    chosen = sorted(ranked(found, response)[:3])
    if response.best is None or len(chosen) < 2:
        return ""
    with figure(3.6 if len(chosen) == 3 else 2.8) as (drawn, axes):
        corners = np.array(
            [[1 if number >> k & 1 else -1 for k in range(len(chosen))] for number in range(2 ** len(chosen))]
        )
        points = np.tile(_centre(found, response), (len(corners), 1))
        points[:, chosen] = corners
        fitted = values(found, response, points)
        flat = np.array([_projected(each) for each in corners])
        for one, other in combinations(range(len(corners)), 2):
            if (corners[one] != corners[other]).sum() == 1:
                axes.plot(*zip(flat[one], flat[other], strict=True), color=OTHER, linewidth=1.2, zorder=1)
        wanted = fitted.argmax() if response.goal.kind == "max" else fitted.argmin()
        for place, (x, y) in enumerate(flat):
            best = response.goal.kind != "target" and place == wanted
            axes.plot([x], [y], "o", color=AFTER if best else INK, markersize=7 if best else 5, zorder=3)
            # Labels of the front stand outside of the cube, where no edge runs.
            front = len(chosen) == 3 and corners[place][2] < 0
            offset, across, up = ((-7, -4), "right", "top") if front else ((7, 6), "left", "bottom")
            axes.annotate(
                number(float(fitted[place])), (x, y), xytext=offset, textcoords="offset points", fontsize=10.5,
                ha=across, va=up, color=AFTER if best else INK, fontweight="bold" if best else "normal", zorder=4,
            )  # fmt: skip
        _edge_names(axes, found, chosen)
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.margins(0.16)
        names = ", ".join(found.factors[index].name for index in chosen)
        told = f"{number(float(fitted.min()))} to {number(float(fitted.max()))}"
        return svg(drawn, f"cube-{response.name}", f"Fitted {response.name} at the corners of {names}: from {told}.")


def _projected(corner: Floats) -> tuple[float, float]:
    """Where a corner is drawn: the third factor goes to the back."""
    x, y = (corner[0] + 1) * 0.9, (corner[1] + 1) / 2
    if len(corner) == 3:
        x, y = x + EDGE[0] * (corner[2] + 1) / 2, y + EDGE[1] * (corner[2] + 1) / 2
    return float(x), float(y)


def _edge_names(axes: Axes, found: DesignFit, chosen: list[int]) -> None:
    """The name of each factor with its two ends, along its front edge."""
    spots = [((0.9, -0.02), (0, -16), "center", "top"), ((0, 0.5), (-10, 0), "right", "center")]
    spots.append(((1.8 + EDGE[0] / 2, EDGE[1] / 2), (12, -10), "left", "center"))
    for index, (place, offset, across, up) in zip(chosen, spots, strict=False):
        factor = found.factors[index]
        low, high = (factor.worded(factor.natural(end)) for end in (-1.0, 1.0))
        text = f"{factor.name}\n{low} to {high}"
        axes.annotate(text, place, xytext=offset, textcoords="offset points", ha=across, va=up, fontsize=9)


def contours(found: DesignFit, response: ResponseFit) -> str:
    """Lines of equal response over the pairs of factors that matter most."""
    pairs = list(combinations(ranked(found, response), 2))[:PAIRS]
    if response.best is None or not pairs:
        return ""
    rows = -(-len(pairs) // 2)
    with figure(0.4 + 3.1 * rows, min(2, len(pairs)), rows=rows) as (drawn, every):
        places = np.atleast_1d(every).ravel()
        for axes, (one, other) in zip(places, pairs, strict=False):
            _contour(axes, found, response, one, other)
        for axes in places[len(pairs) :]:
            axes.set_axis_off()
        names = "; ".join(f"{found.factors[one].name} and {found.factors[other].name}" for one, other in pairs)
        return svg(drawn, f"contours-{response.name}", f"Lines of equal {response.name} over {names}.")


def _contour(axes: Axes, found: DesignFit, response: ResponseFit, one: int, other: int) -> None:
    from matplotlib.colors import to_rgba

    side = np.linspace(-1, 1, FINE)
    fitted = _over(found, response, one, other, side)
    x, y = (np.array([_natural(found, index, at) for at in side]) for index in (one, other))
    if np.ptp(fitted) > 0:
        shades = [to_rgba(OTHER, 0.04 + 0.05 * step) for step in range(10)]
        levels = np.linspace(fitted.min(), fitted.max(), 11)
        axes.contourf(x, y, fitted, levels=levels, colors=shades)
        lines = axes.contour(x, y, fitted, levels=levels[1:-1:2], colors=[OTHER], linewidths=0.9)
        axes.clabel(lines, fmt=lambda value: number(float(value), 3), fontsize=8.5, colors=[INK])
    seen = {(round(run.coded[one], 6), round(run.coded[other], 6)) for run in response.fitted}
    inside = sorted(place for place in seen if max(map(abs, place)) <= 1)
    across, up = ([_natural(found, index, place[side]) for place in inside] for side, index in enumerate((one, other)))
    axes.plot(across, up, "o", color=INK, markersize=3.5, clip_on=False)
    assert response.best is not None
    best = [_natural(found, index, response.best.at.coded[index]) for index in (one, other)]
    axes.plot(*([each] for each in best), "*", color=BEFORE, markersize=13, clip_on=False, zorder=5)
    for axis, index in ((axes.xaxis, one), (axes.yaxis, other)):
        factor = found.factors[index]
        if factor.scale is Scale.LOG:
            (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
            plain_ticks(axis, (factor.low, factor.high))
        axis.set_label_text(_label(found, index))
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])


def solid(found: DesignFit, response: ResponseFit) -> str:
    """The response over the two factors that matter most, in three dimensions."""
    chosen = ranked(found, response)[:2]
    if response.best is None or len(chosen) < 2:
        return ""
    one, other = chosen
    side = np.linspace(-1, 1, COARSE)
    fitted = _over(found, response, one, other, side)
    with figure(4.4, projection="3d") as (drawn, axes):
        x, y = np.meshgrid(side, side)
        from matplotlib.colors import to_rgba

        axes.plot_surface(
            x, y, fitted, color=to_rgba(OTHER, 0.28), edgecolor=to_rgba(OTHER, 0.8), linewidth=0.5, shade=False,
            rcount=COARSE, ccount=COARSE,
        )  # fmt: skip
        best = response.best.at
        axes.plot([best.coded[one]], [best.coded[other]], [best.value], "*", color=BEFORE, markersize=13, zorder=9)
        for axis, index in ((axes.xaxis, one), (axes.yaxis, other)):
            axis.set_ticks([-1, 0, 1], [f"{_natural(found, index, at):.4g}" for at in (-1.0, 0.0, 1.0)])
            axis.set_label_text(_label(found, index))
        axes.zaxis.set_label_text(response.name)
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.set_pane_color((0, 0, 0, 0))
            axis.line.set_color(INK)
        axes.view_init(elev=24, azim=-128 if response.goal.kind == "min" else -58)
        axes.set_box_aspect((1.25, 1.25, 0.85), zoom=0.92)
        names = f"{found.factors[one].name} and {found.factors[other].name}"
        told = f"from {number(float(fitted.min()))} to {number(float(fitted.max()))}"
        return svg(drawn, f"surface-{response.name}", f"{response.name} as a surface over {names}: {told}.")


def _over(found: DesignFit, response: ResponseFit, one: int, other: int, side: Floats) -> Floats:
    """Values over two factors, shape (len(side), len(side)): the first along the second axis."""
    x, y = np.meshgrid(side, side)
    points = np.tile(_centre(found, response), (x.size, 1))
    points[:, one], points[:, other] = x.ravel(), y.ravel()
    return values(found, response, points).reshape(x.shape)


def _centre(found: DesignFit, response: ResponseFit) -> Floats:
    if response.best is None:
        return np.zeros(len(found.factors))
    return np.array(response.best.at.coded)


def _natural(found: DesignFit, index: int, coded: float) -> float:
    """Without rounding of whole numbers: lines are drawn between them."""
    factor = found.factors[index]
    if factor.scale is Scale.LOG:
        return float(factor.low * (factor.high / factor.low) ** ((coded + 1) / 2))
    return (factor.low + factor.high) / 2 + coded * (factor.high - factor.low) / 2


def _label(found: DesignFit, index: int) -> str:
    factor = found.factors[index]
    return f"{factor.name}, {factor.unit}" if factor.unit else factor.name
