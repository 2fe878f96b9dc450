"""Plots of timer readings: the frequency of each value, and of larger ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from becalm.report.drawing import AFTER, FAINT, HALF, INK, OTHER, plain_ticks, svg
from becalm.report.drawing import figure as picture
from becalm.results.clock import TimerCell
from becalm.wording import clock as words

MOST_BARS = 48
"""The number of bars of a histogram; a bar is one value of a coarse counter, or several values of a fine one."""

REACH = 0.995
"""The share of the measurements that a histogram shows; the other plot, with a logarithmic axis, shows all."""


def bars(reference: Sequence[tuple[float, int]], most: int = MOST_BARS) -> list[tuple[float, float, int]]:
    """Return bars (from, to, count) of values with their counts; a bar holds from <= value < to.

    Bars are equally wide without gaps; a value lies in the middle of its bar if the bar holds no other.
    """
    values = [value for value, _ in reference]
    if not values:
        return []
    step = min((b - a for a, b in itertools.pairwise(values)), default=1.0)
    first, last = values[0], values[-1]
    # The width is a whole number of steps, so that all bars hold equally many places of a coarse counter.
    width = step * max(1, math.ceil((round((last - first) / step) + 1) / most))
    edge = first - step / 2
    counts = [0] * (int((last - edge) / width) + 1)
    for value, count in reference:
        counts[int((value - edge) / width)] += count
    return [(edge + index * width, edge + (index + 1) * width, count) for index, count in enumerate(counts)]


def survival(reference: Sequence[tuple[float, int]]) -> list[tuple[float, float]]:
    """Return the corners (time, share) of the curve of the share of measurements that are at least as long.

    The share is 1 up to the smallest value. It falls just after each value, since a measurement of that value is at
    least that long, and no longer.
    """
    total = sum(count for _, count in reference)
    left = total
    corners = []
    for value, count in reference:
        corners.append((value, left / total))
        left -= count
        if left:
            corners.append((value, left / total))
    return corners


def below(reference: Sequence[tuple[float, int]], share: float) -> list[tuple[float, int]]:
    """Return the smallest values that make up this share of the measurements; at least one value."""
    total = sum(count for _, count in reference)
    result: list[tuple[float, int]] = []
    seen = 0
    for value, count in reference:
        if result and seen >= share * total:
            break
        result.append((value, count))
        seen += count
    return result


def distribution(cell: TimerCell) -> str:
    """Return the histogram of the values that were read for work that never varies."""
    reference = below(cell.reference, REACH)
    if not reference:
        return ""
    with picture(2.3, width=HALF) as (figure, axes):
        for low, high, count in bars(reference):
            axes.bar(low, count, high - low, align="edge", color=AFTER, linewidth=0)
        _labels(axes, cell, "measurements")
        axes.set_title(f"{cell.timer}, {cell.flush}", loc="left", fontsize=9.5)
        most = max(reference, key=lambda pair: pair[1])[0]
        description = f"Values of {cell.timer}, {cell.flush}: {words.amount(reference[0][0], cell.unit)} to "
        description += f"{words.amount(reference[-1][0], cell.unit)}, most often {words.amount(most, cell.unit)}."
        return svg(figure, f"values {cell.timer} {cell.flush}", description)


COLOURS = (AFTER, OTHER, INK, FAINT)
DASHES = ("-", "--", ":", "-.")


def exceeded(cells: Sequence[TimerCell]) -> str:
    """Return the plot of how likely measurements of each timer at one flush exceed the shortest."""
    plotted = [cell for cell in cells if cell.reference]
    if not plotted:
        return ""
    with picture(3.1) as (figure, axes):
        longest = least = 1.0
        for index, cell in enumerate(plotted):
            values, shares = zip(*survival(cell.reference), strict=True)
            over = [value / values[0] for value in values]
            style = DASHES[index // 3 % len(DASHES)]
            axes.plot(over, shares, label=cell.timer, color=COLOURS[index % 3], linestyle=style)
            longest, least = max(longest, over[-1]), min(least, shares[-1])
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(0.98, max(longest, 1.05) * 1.05)
        axes.set_ylim(least / 1.5, 1.3)
        plain_ticks(axes.xaxis, axes.get_xlim(), 9)
        plain_ticks(axes.yaxis, axes.get_ylim(), 9)
        axes.set_xlabel("time over the shortest")
        axes.set_ylabel("share at least as long")
        axes.grid(True, color=FAINT, linewidth=0.6)
        axes.legend(frameon=False, fontsize=8.5)
        named = ", ".join(cell.timer for cell in plotted)
        return svg(
            figure, f"exceeded {plotted[0].flush}", f"The share of measurements that take at least this long: {named}."
        )


def _labels(axes: Any, cell: TimerCell, vertical: str) -> None:
    axes.set_xlabel("cycles" if cell.unit == "cycles" else "ns")
    axes.set_ylabel(vertical)
    axes.margins(x=0.02)
