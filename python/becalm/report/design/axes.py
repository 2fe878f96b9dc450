"""Axes of factors, and the grid common to all plots of a fit: levels in units that are easy to read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from becalm.nouns.domain import Scale
from becalm.nouns.factor import TIMES, Factor
from becalm.report.drawing import FAINT, Margins, plain_ticks
from becalm.results.design_fit import DesignFit

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LONGEST = 24
"""The length of a name on one line, in characters; longer names would reach beyond the plot."""


NARROW = 4
"""The number of ticks of a plot that has two others next to it."""

WIDE, SLIM = 44, 19
"""The characters that fit below the axis of a single plot, and of one that has two others next to it."""

SMALL = 8
"""The size of labels that take several lines."""

ROOM = Margins(left=0.68, right=0.14, bottom=0.76, top=0.12)
"""The room around a plot of one panel: ticks and a label on the left, labels on three lines below."""


def folded(name: str, longest: int = LONGEST) -> str:
    """Return a long name on two lines, broken after an underscore, a dash or a space near its middle."""
    places = [place + 1 for place, character in enumerate(name) if character in "_- " and 0 < place < len(name) - 1]
    if len(name) <= longest or not places:
        return name
    place = min(places, key=lambda place: abs(place - len(name) / 2))
    return f"{name[:place]}\n{name[place:]}"


def natural(fit: DesignFit, index: int, coded: float) -> float:
    """Return the level at a place; whole numbers are not rounded, since lines are drawn between them."""
    factor = fit.factors[index]
    if factor.scale is Scale.LOG:
        return float(factor.low * (factor.high / factor.low) ** ((coded + 1) / 2))
    return (factor.low + factor.high) / 2 + coded * (factor.high - factor.low) / 2


def factor_axis(axes: Axes, across: bool, factor: Factor, most: int = 6) -> None:
    """Set scale, ticks and name of an axis to the levels of a factor; `across`: whether it is the horizontal one."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis = axes.xaxis if across else axes.yaxis
    if factor.categorical:
        lines = _lines(factor.choices, WIDE if most > NARROW else SLIM) if across else 1
        labels = [f"{chr(10) * (index % lines)}{choice}" for index, choice in enumerate(factor.choices)]
        axis.set_ticks(range(len(labels)), labels, fontsize=SMALL if lines > 1 else None)
        axis.set_label_text(folded(factor.name))
        return
    if factor.scale is Scale.LOG:
        (axes.set_xscale if across else axes.set_yscale)("log")
        few = across and most <= NARROW and len(tick(factor, factor.high)) > 4
        plain_ticks(axis, (factor.low, factor.high), 3 if few else most, lambda level, _: tick(factor, level))
        axis.set_label_text(folded(labelled(factor)))
        return
    unit, size = _unit_of(factor)
    axis.set_major_locator(MaxNLocator(min(5, most), steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda level, _: short(level / size)))
    axis.set_label_text(folded(f"{factor.name}, {unit}" if unit else factor.name))


def tick(factor: Factor, level: float) -> str:
    """Return a level of a logarithmic axis; times include their units, which change along the axis."""
    if factor.unit in TIMES and not _long(factor):
        return factor.worded(level, 3)
    return short(level * TIMES.get(factor.unit, 1.0))


def labelled(factor: Factor) -> str:
    """Return the label of a logarithmic axis."""
    unit = "s" if _long(factor) else "" if factor.unit in TIMES else factor.unit
    return f"{factor.name}, {unit}" if unit else factor.name


def short(level: float) -> str:
    """Return a number as a tick, with letters for thousands, millions and so on, such as 20M."""
    for letter, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(level) >= 10 * size or (abs(level) >= size > 1e3):
            return f"{round(level / size, 6):g}{letter}"
    return f"{round(level, 9):g}"


def _long(factor: Factor) -> bool:
    """Return whether a range of times reaches beyond hours, where plain seconds are easier to read."""
    return factor.unit in TIMES and factor.high * TIMES[factor.unit] >= 1e4


def _lines(labels: Sequence[str], room: int) -> int:
    """Return the number of lines, at most 3, on which labels alternate so as not to touch; `room`: characters."""
    for lines in (1, 2):
        rows = [labels[line::lines] for line in range(lines)]
        if all(
            (len(left) + len(right)) / 2 + 1 <= lines * room / len(labels)
            for row in rows
            for left, right in pairwise(row)
        ):
            return lines
    return 3


def grid(*every: Axes, **more: Any) -> None:
    """Draw thin lines behind the data of each of these axes."""
    for axes in every:
        axes.grid(True, color=FAINT, linewidth=0.5, **more)
        axes.set_axisbelow(True)


def _unit_of(factor: Factor) -> tuple[str, float]:
    """Return the unit of a linear axis, and its size in the factor's own unit."""
    most = max(abs(factor.low), abs(factor.high))
    if factor.unit not in TIMES or 1e-3 <= most < 1e3:
        return factor.unit, 1.0
    unit = factor.worded(most).rpartition(" ")[2]
    return unit, TIMES[unit] / TIMES[factor.unit]
