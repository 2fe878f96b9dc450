"""The plots of sweet spots: the miss ratio of each program over time, with its states, spots and migrations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from becalm.migration.sweetspots import Spotted, ratio
from becalm.report.drawing import AFTER, ALARM, BEFORE, FAINT, INK, OTHER, figure, svg
from becalm.report.page import Picture
from becalm.wording.printable import one_line
from becalm.wording.sweetspots import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 6
"""The number of programs that are drawn."""

SPOTS = ((OTHER, "D"), (AFTER, "v"), (ALARM, "^"))
"""The colour and the marker of each type of sweet spot."""

UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


def curves(spotted: Spotted) -> Iterator[Picture]:
    """Yield a plot for each of the first `MOST` programs, with gaps for unknown windows."""
    rest = len(spotted.programs) - MOST
    for number in range(len(spotted.programs))[:MOST]:
        if not any(window["known"] and window["references"] for window in spotted.windows(number)):
            continue
        caption = (
            f"Task {one_line(spotted.label(number))}: a step is a window, a gap one that is not known or read nothing."
        )
        caption += " Bands: more is missed, or it is evicted."
        more = f" The first {MOST} of {len(spotted.programs)} programs." if rest > 0 and not number else ""
        yield Picture(_curve(spotted, number, f"task {one_line(spotted.label(number))}"), caption + more)


def _curve(spotted: Spotted, number: int, name: str) -> str:
    last = spotted.detection["until_ns"] - spotted.start_ns
    size, unit = (
        next((scale for scale in UNITS if last >= scale[0]), (1.0, "ns")) if spotted.unit == "ns" else (1, spotted.unit)
    )

    def at(ns: int) -> float:
        return (ns - spotted.start_ns) / size

    with figure(2.4) as (picture, axes):
        for state in spotted.detection["states"]:
            if state["program"] == number:
                color = ALARM if state["kind"] == 2 else AFTER
                axes.axvspan(at(state["from_ns"]), at(state["until_ns"]), color=color, alpha=0.12, linewidth=0)
        top = 0.0
        for part in _known(spotted, number):
            ends = [*(at(window["from_ns"]) for window in part), at(part[-1]["until_ns"])]
            ratios = [100 * ratio(window["references"], window["misses"]) for window in part]
            top = max(top, *ratios)
            axes.step(ends, [*ratios, ratios[-1]], where="post", color=BEFORE, linewidth=1.2)
        top = top or 1.0
        _spots(axes, spotted, number, at, top)
        for migration in spotted.detection["migrations"]:
            if migration["program"] == number:
                axes.axvline(at(migration["time_ns"]), color=INK, linewidth=0.8, linestyle=(0, (3, 2)))
        first = spotted.detection["from_ns"]
        axes.set_xlim(at(first), at(max(spotted.detection["until_ns"], first + 1)))
        axes.set_ylim(0, 1.15 * top)
        axes.grid(axis="y", color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel(f"time, {unit}" if spotted.unit == "ns" else unit)
        axes.set_ylabel("missed, %" if spotted.miss_ratio else "share, %")
        return svg(picture, f"sweet spots of {name}", f"Ratio of misses of {name} over time")


def _spots(axes: Axes, spotted: Spotted, number: int, at: Callable[[int], float], top: float) -> None:
    """Draw the spots above the curve, with their legend."""
    labelled = False
    for kind, (color, marker) in enumerate(SPOTS):
        times = [at(spot["time_ns"]) for spot in spotted.spots if spot["program"] == number and spot["kind"] == kind]
        if times:
            heights = [1.08 * top] * len(times)
            points: Any = axes.plot(times, heights, marker, color=color, markersize=6, linestyle="none")
            points[0].set_label(KINDS[kind])
            labelled = True
    if any(migration["program"] == number for migration in spotted.detection["migrations"]):
        axes.plot([], [], color=INK, linewidth=0.8, linestyle=(0, (3, 2)), label="moved")
        labelled = True
    if labelled:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False, fontsize=9)


def _known(spotted: Spotted, number: int) -> Iterator[list[dict[str, Any]]]:
    """Yield sequences of adjacent windows with known ratios."""
    part: list[dict[str, Any]] = []
    end = -math.inf
    for window in spotted.windows(number):
        ratio = window["known"] and window["references"]
        if not ratio or window["from_ns"] > end:
            if part:
                yield part
            part = []
        if ratio:
            part.append(window)
        end = window["until_ns"]
    if part:
        yield part
