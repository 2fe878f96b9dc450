"""The picture of `--where`: how much more or less each function takes, as bars about zero.

No call stacks are recorded, so it is no flame graph: each bar is what one function takes itself, without the functions
that it calls.
"""

from __future__ import annotations

from becalm.report.compare_figures import rows
from becalm.report.drawing import ALARM, FAINT, INK, OTHER, WIDTH, figure, fit, svg
from becalm.results.where import FunctionDifference, Where
from becalm.wording.printable import printable
from becalm.wording.where import change

ROW = 0.3
"""Inches of a row."""

CAPTION = (
    "Red: takes more; blue: takes less; pale: not certain. Lines are intervals. Each function by itself, without those "
    "that it calls."
)


def functions(where: Where, width: float = WIDTH) -> str:
    """Return the picture of the functions of a comparison, in percent of all that the old program takes; empty without
    any."""
    if not where.functions:
        return ""
    with figure(0.75 + ROW * len(where.functions), width=width, fitted=True) as (picture, axes):
        axes.axvline(0.0, color=INK, linewidth=0.8)
        for row, function in enumerate(where.functions):
            axes.barh([row], [100 * function.share], height=0.6, color=_color(function))
            axes.plot([100 * function.low, 100 * function.high], [row, row], color=INK, linewidth=1)
        rows(axes, [printable(function.name) for function in where.functions], width)
        axes.grid(True, axis="x", color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel(f"change, % of all that {where.old} takes")
        changes = "; ".join(f"{function.name} {change(function)}" for function in where.functions)
        fit(picture, axes)
        return svg(picture, f"functions-{width:g}", f"Change of each function: {changes}.")


def _color(function: FunctionDifference) -> str:
    if not function.named:
        return FAINT
    return ALARM if function.share > 0 else OTHER
