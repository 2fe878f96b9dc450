"""The pictures of a simulation: who ran on which CPU, all the time and in the beginning, and how long tasks waited.

Tasks of one kind ("client 3", "sender 0.7") have one colour: the four kinds with most CPU time have their own, others a
faint one. Turns are drawn as they were; over the whole time, each piece of a row has the colour of the kind
that ran longest in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from becalm.report.drawing import AFTER, ALARM, BEFORE, FAINT, INK, OTHER, WIDTH, figure, plain_ticks, svg
from becalm.report.page import Picture
from becalm.results.simulate import Latency, SimulatedRun, Simulation, Turns
from becalm.wording.compare import counted
from becalm.wording.simulate import dropped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = (BEFORE, AFTER, OTHER, ALARM)
PIECES = 300
"""The number of pieces into which the whole time is cut."""

TURNS = 400
"""Turns in the picture of the beginning."""

ROWS = 16
"""CPUs that are drawn."""

Turn = tuple[int, int, int, int]


def kind(name: str) -> str:
    """Return the name of a task without its numbers: "client 3" is a client."""
    return re.sub(r"(,? thread)?[ .:\d]+$", "", name) or name


def colored(drawn: Turns) -> dict[str, str]:
    """Return the colour of each kind of task, by CPU time."""
    spent: dict[str, int] = {}
    for _, task, start, end in drawn.spans:
        name = kind(drawn.names[task])
        spent[name] = spent.get(name, 0) + end - start
    order = sorted(spent, key=lambda name: (-spent[name], name))
    return {name: COLORS[at] if at < len(COLORS) else FAINT for at, name in enumerate(order)}


def pieces(spans: Sequence[Turn], until_ns: int, count: int = PIECES) -> list[Turn]:
    """Return the turns of kinds, by number: each piece of a CPU's time is of the kind that ran longest in it, equal
    neighbours are joined, and pieces that were idle for more than half are left out. Times in ns."""
    width = max(1, -(-until_ns // count))
    ran: dict[tuple[int, int], dict[int, int]] = {}
    for cpu, which, start, end in spans:
        for piece in range(start // width, -(-end // width)):
            inside = min(end, (piece + 1) * width) - max(start, piece * width)
            of = ran.setdefault((cpu, piece), {})
            of[which] = of.get(which, 0) + inside
    turns: list[Turn] = []
    for (cpu, piece), of in sorted(ran.items()):
        which = max(of, key=lambda each: (of[each], -each))
        if 2 * sum(of.values()) < min(width, until_ns - piece * width):
            continue
        start, end = piece * width, min((piece + 1) * width, until_ns)
        if turns and turns[-1][0] == cpu and turns[-1][1] == which and turns[-1][3] == start:
            turns[-1] = (cpu, which, turns[-1][2], end)
        else:
            turns.append((cpu, which, start, end))
    return turns


def timelines(simulation: Simulation, drawn: Turns) -> Iterator[Picture]:
    """Yield the whole time, and the first turns."""
    colors = colored(drawn)
    names = list(colors)
    spans = [(cpu, names.index(kind(drawn.names[task])), start, end) for cpu, task, start, end in drawn.spans]
    rows = min(simulation.runs[0].cpus, ROWS)
    last = max(end for *_, end in spans)
    end = simulation.runs[0].end_ns if drawn.dropped == 0 else last
    more = f" The first {rows} of {simulation.runs[0].cpus} CPUs." if rows < simulation.runs[0].cpus else ""
    cut = f" {dropped(drawn.dropped, len(spans))}" if drawn.dropped else ""
    others = " Faint: all others." if len(names) > len(COLORS) else ""
    whole = pieces([span for span in spans if span[0] < rows], end)
    said = "All the time, piece by piece: who ran longest; no colour where a CPU was idle or switching for most."
    said += more + cut
    yield Picture(_gantt(whole, colors, rows, (0, end), "timeline", "Who ran where, all the time"), said + others)
    first = sorted((span for span in spans if span[0] < rows), key=lambda span: span[2])[:TURNS]
    if len(first) < len(spans):
        until = max(each[3] for each in first)
        said = f"The first {counted(len(first), 'turn')}, each as it was."
        yield Picture(_gantt(first, colors, rows, (0, until), "first turns", "Who ran where at first"), said)


def _unit(ns: float) -> tuple[float, str]:
    return next(((size, unit) for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if ns >= size), (1.0, "ns"))


def _gantt(
    turns: Sequence[Turn], colors: dict[str, str], rows: int, limits: tuple[int, int], name: str, told: str
) -> str:
    size, unit = _unit(limits[1])
    with figure(0.9 + 0.32 * rows) as (drawn, axes):
        shown = []
        for which, (called, color) in enumerate(colors.items()):
            bars = [(cpu, start / size, (end - start) / size) for cpu, each, start, end in turns if each == which]
            for cpu in sorted({bar[0] for bar in bars}):
                row = [(start, width) for at, start, width in bars if at == cpu]
                axes.broken_barh(row, (cpu - 0.38, 0.76), facecolors=color, linewidth=0)
            if color != FAINT:
                shown.append((called, color))
        axes.set_yticks(range(rows), [f"CPU {cpu}" for cpu in range(rows)])
        axes.set_ylim(rows - 0.5, -0.5)
        axes.set_xlim(limits[0] / size, max(limits[1], 1) / size)
        axes.set_xlabel(f"simulated time, {unit}")
        _legend(axes, shown)
        return svg(drawn, f"simulation {name}", told)


def _legend(axes: Axes, shown: Sequence[tuple[str, str]]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=color, linewidth=0, label=called[:24]) for called, color in shown]
    axes.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(handles) or 1, frameon=False, fontsize=9
    )


def waits(run: SimulatedRun) -> Iterator[Picture]:
    """Yield the pictures of how many waits exceed each time: of tasks for a CPU and of messages for being read."""
    lines = [("waiting for a CPU", run.wait, BEFORE), ("message, sent to read", run.message_latency, AFTER)]
    lines = [line for line in lines if len(line[1].survival) > 1 and line[1].largest_ns > 0]
    if not lines:
        return
    least = max(1, min(_shortest(each) for _, each, _ in lines))
    most = max(each.largest_ns for _, each, _ in lines)
    size, unit = _unit(most)
    with figure(2.9, width=WIDTH) as (drawn, axes):
        for name, each, color in lines:
            along, above = zip(*curve(each, least / 1.2), strict=True)
            axes.step([ns / size for ns in along], above, where="post", color=color, label=name, linewidth=1.6)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(least / 1.2 / size, most * 1.2 / size)
        plain_ticks(axes.xaxis, (least / 1.2 / size, most * 1.2 / size), 9)
        shares = [share for _, each, _ in lines for _, share in curve(each, least / 1.2) if share > 0]
        lowest = min(shares, default=0.01)
        axes.set_ylim(max(lowest / 2, 1e-9), 1.3)
        axes.yaxis.set_major_formatter(_percent)
        axes.grid(True, linewidth=0.5)
        axes.set_xlabel(f"longer than, {unit}")
        axes.set_ylabel("share")
        axes.legend(frameon=False, fontsize=9, labelcolor=INK)
        picture = svg(drawn, "simulation waits", "How many waited longer than any time")
    yield Picture(picture, "The share that waited longer than a time: where a line ends is the longest of all.")


def _shortest(latency: Latency) -> int:
    return next((upper for upper, _ in latency.buckets if upper > 0), 1)


def curve(latency: Latency, least: float) -> list[tuple[float, float]]:
    """Return the survival curve from `least` on, which stands for all shorter times: never below it, and down to 0."""
    points = latency.survival
    before = [share for at, share in points if at <= least]
    return [(least, before[-1]), *((at, share) for at, share in points if at > least)]


def _percent(share: float, _: Any) -> str:
    return f"{100 * share:.4g} %"
