"""The plots of advice on placement: the costs of pairs, framed where they share a chip, and gains with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from becalm.report.drawing import AFTER, ALARM, BEFORE, FAINT, INK, figure, svg
from becalm.report.page import Picture
from becalm.results.place import PlacementAdvice, SharingShape
from becalm.wording.printable import distinct, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

MOST = 16
"""The number of programs up to which a square is readable."""

LONGEST = 22
"""The length of a name on an axis, in characters."""

DARKEST = 0.75
"""The opacity of the costliest cell, in which its number stays readable."""


def pictures(advice: PlacementAdvice) -> Iterator[Picture]:
    """Yield the square of pairs and the gains, where they are known."""
    if advice.costliest and len(_names(advice)) > 1:
        where = "round" if advice.shape is SharingShape.ROUNDS else "chip"
        caption = (
            f"Loss of the program of a row next to that of a column, % of its speed. Framed: they share a {where}."
        )
        most = f" The {MOST} programs of the costliest pairs." if len(_names(advice)) < len(advice.degradation) else ""
        yield Picture(_square(advice), caption + most)
    if advice.over_random.noise is not None:
        yield Picture(_gains(advice), "Gain of this sharing, with 95 % intervals.")


def _names(advice: PlacementAdvice) -> list[str]:
    """Return the programs in the order of the sharing; if there are too many, those of the costliest pairs."""
    order = [name for names in advice.sharing for name in dict.fromkeys(names)]
    if len(order) <= MOST:
        return order
    costly = dict.fromkeys(name for pair in advice.costliest for name in (pair.first, pair.second))
    costliest = set(list(costly)[:MOST])
    return [name for name in order if name in costliest]


def _square(advice: PlacementAdvice) -> str:
    names = _names(advice)
    places = {name: place for place, name in enumerate(names)}
    costs: dict[tuple[int, int], float] = {}
    for pair in advice.costliest:
        if pair.first in places and pair.second in places:
            costs[places[pair.first], places[pair.second]] = pair.of_first
            costs[places[pair.second], places[pair.first]] = pair.of_second
    with figure(1.0 + 0.34 * len(names)) as (picture, axes):
        top = max((abs(cost) for cost in costs.values()), default=0.0) or 1.0
        for (row, column), cost in costs.items():
            _cell(axes, (row, column), cost, DARKEST * max(0.0, cost) / top)
            if advice.together(names[row], names[column]):
                axes.add_patch(_box(row, column, fill=False, edgecolor=INK, linewidth=1.4, zorder=3))
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.set_ylim(len(names) - 0.5, -0.5)
        labels = distinct([printable(name) for name in names], LONGEST)
        axes.set_yticks(range(len(names)), labels)
        axes.set_xticks(range(len(names)), labels, rotation=35, ha="right")
        axes.tick_params(length=0)
        return svg(picture, "costs of pairs", "Loss of each program next to each other one, in percent of its speed")


def _cell(axes: Axes, place: tuple[int, int], cost: float, opacity: float) -> None:
    axes.add_patch(_box(*place, facecolor=ALARM, alpha=opacity, linewidth=0))
    text = f"{100 * cost:.1f}"
    axes.text(place[1], place[0], "0.0" if text == "-0.0" else text, ha="center", va="center", fontsize=8, color=INK)


def _box(row: int, column: int, **style: Any) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, **style)


def _gains(advice: PlacementAdvice) -> str:
    rows = [(advice.over_random, "over chance", AFTER), (advice.over_worst, "over the worst", BEFORE)]
    with figure(1.5) as (picture, axes):
        for place, (gain, _, color) in enumerate(rows):
            low, high = (gain.estimate if bound is None else bound for bound in (gain.low, gain.high))
            axes.plot([100 * low, 100 * high], [place, place], color=color, linewidth=2.4, solid_capstyle="butt")
            axes.plot([100 * gain.estimate], [place], "o", color=color, markersize=6)
        axes.axvline(0, color=FAINT, linewidth=1.0)
        axes.set_yticks(range(len(rows)), [name for _, name, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        unit = "time" if advice.shape is SharingShape.ROUNDS else "speed"
        axes.set_xlabel(f"gain, % of {unit}")
        return svg(picture, "gains", f"Gain of the sharing, in percent of {unit}, with intervals")
