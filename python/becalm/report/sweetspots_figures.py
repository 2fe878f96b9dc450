"""The pictures of sweet spots: each program's ratio of misses over time, with its states, spots and migrations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from becalm.migration.spotted import Spotted, ratio
from becalm.report.drawing import AFTER, ALARM, BEFORE, FAINT, INK, OTHER, figure, svg
from becalm.report.page import Picture
from becalm.wording.printable import one_line
from becalm.wording.sweetspots import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 6
"""Programs that are drawn."""

SPOTS = ((OTHER, "D"), (AFTER, "v"), (ALARM, "^"))
"""Colour and shape of each type."""

UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


def curves(found: Spotted) -> Iterator[Picture]:
    """Yield a picture a program, of the first `MOST`: unknown windows are gaps."""
    rest = len(found.programs) - MOST
    for number in range(len(found.programs))[:MOST]:
        if not any(each["known"] and each["references"] for each in found.windows(number)):
            continue
        said = f"Task {one_line(found.label(number))}: a step is a window, a gap one that is not known or read nothing."
        said += " Bands: more is missed, or it is evicted."
        more = f" The first {MOST} of {len(found.programs)} programs." if rest > 0 and not number else ""
        yield Picture(_curve(found, number, f"task {one_line(found.label(number))}"), said + more)


def _curve(found: Spotted, number: int, name: str) -> str:
    last = found.found["until_ns"] - found.start_ns
    size, unit = (
        next((each for each in UNITS if last >= each[0]), (1.0, "ns")) if found.unit == "ns" else (1, found.unit)
    )

    def at(ns: int) -> float:
        return (ns - found.start_ns) / size

    with figure(2.4) as (drawn, axes):
        for each in found.found["states"]:
            if each["program"] == number:
                color = ALARM if each["kind"] == 2 else AFTER
                axes.axvspan(at(each["from_ns"]), at(each["until_ns"]), color=color, alpha=0.12, linewidth=0)
        top = 0.0
        for part in _known(found, number):
            ends = [*(at(each["from_ns"]) for each in part), at(part[-1]["until_ns"])]
            ratios = [100 * ratio(each["references"], each["misses"]) for each in part]
            top = max(top, *ratios)
            axes.step(ends, [*ratios, ratios[-1]], where="post", color=BEFORE, linewidth=1.2)
        top = top or 1.0
        _spots(axes, found, number, at, top)
        for each in found.found["migrations"]:
            if each["program"] == number:
                axes.axvline(at(each["time_ns"]), color=INK, linewidth=0.8, linestyle=(0, (3, 2)))
        first = found.found["from_ns"]
        axes.set_xlim(at(first), at(max(found.found["until_ns"], first + 1)))
        axes.set_ylim(0, 1.15 * top)
        axes.grid(axis="y", color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel(f"time, {unit}" if found.unit == "ns" else unit)
        axes.set_ylabel("missed, %" if found.miss_ratio else "share, %")
        return svg(drawn, f"sweet spots of {name}", f"Ratio of misses of {name} over time")


def _spots(axes: Axes, found: Spotted, number: int, at: Callable[[int], float], top: float) -> None:
    """Draw the marks above the curve, and their legend."""
    shown = False
    for kind, (color, marker) in enumerate(SPOTS):
        times = [at(each["time_ns"]) for each in found.spots if each["program"] == number and each["kind"] == kind]
        if times:
            heights = [1.08 * top] * len(times)
            drawn: Any = axes.plot(times, heights, marker, color=color, markersize=6, linestyle="none")
            drawn[0].set_label(KINDS[kind])
            shown = True
    if any(each["program"] == number for each in found.found["migrations"]):
        axes.plot([], [], color=INK, linewidth=0.8, linestyle=(0, (3, 2)), label="moved")
        shown = True
    if shown:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False, fontsize=9)


def _known(found: Spotted, number: int) -> Iterator[list[dict[str, Any]]]:
    """Yield runs of windows with known ratios that follow each other."""
    part: list[dict[str, Any]] = []
    end = -math.inf
    for each in found.windows(number):
        ratio = each["known"] and each["references"]
        if not ratio or each["from_ns"] > end:
            if part:
                yield part
            part = []
        if ratio:
            part.append(each)
        end = each["until_ns"]
    if part:
        yield part
