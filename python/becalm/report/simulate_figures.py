"""The plots of a simulation: the tasks on each CPU, over the whole time and at the beginning, and the waits of tasks.

Tasks of one kind ("client 3", "sender 0.7") share a colour: the four kinds with the most CPU time have their own,
others a faint one. Turns at the beginning are drawn one by one; over the whole time, each piece of a row has the colour
of the kind that ran longest in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from becalm.report.drawing import AFTER, ALARM, BEFORE, FAINT, INK, OTHER, WIDTH, figure, plain_ticks, svg
from becalm.report.page import Picture
from becalm.results.simulate import Latency, SimulatedRun, Simulation, Turns
from becalm.wording.numbers import counted
from becalm.wording.simulate import dropped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = (BEFORE, AFTER, OTHER, ALARM)
PIECES = 300
"""The number of pieces into which the whole time is divided."""

TURNS = 400
"""The number of turns in the plot of the beginning."""

ROWS = 16
"""The number of CPUs that are drawn."""

Turn = tuple[int, int, int, int]
"""A turn of a task or a kind: CPU, number of the task or kind, start and end in ns."""


def kind(name: str) -> str:
    """Return the kind of a task, its name without numbers: "client 3" is a client."""
    return re.sub(r"(,? thread)?[ .:\d]+$", "", name) or name


def colored(turns: Turns) -> dict[str, str]:
    """Return the colour of each kind of task, in the order of CPU time."""
    spent: dict[str, int] = {}
    for _, task, start, end in turns.spans:
        name = kind(turns.names[task])
        spent[name] = spent.get(name, 0) + end - start
    order = sorted(spent, key=lambda name: (-spent[name], name))
    return {name: COLORS[at] if at < len(COLORS) else FAINT for at, name in enumerate(order)}


def pieces(spans: Sequence[Turn], until_ns: int, count: int = PIECES) -> list[Turn]:
    """Return the turns of kinds, by number; times in ns.

    Each piece of a CPU's time belongs to the kind that ran longest in it; equal neighbours are joined, and pieces that
    were idle for more than half are left out."""
    width = max(1, -(-until_ns // count))
    ran: dict[tuple[int, int], dict[int, int]] = {}
    for cpu, which, start, end in spans:
        for piece in range(start // width, -(-end // width)):
            inside = min(end, (piece + 1) * width) - max(start, piece * width)
            of = ran.setdefault((cpu, piece), {})
            of[which] = of.get(which, 0) + inside
    turns: list[Turn] = []
    for (cpu, piece), of in sorted(ran.items()):
        which = max(of, key=lambda number: (of[number], -number))
        if 2 * sum(of.values()) < min(width, until_ns - piece * width):
            continue
        start, end = piece * width, min((piece + 1) * width, until_ns)
        if turns and turns[-1][0] == cpu and turns[-1][1] == which and turns[-1][3] == start:
            turns[-1] = (cpu, which, turns[-1][2], end)
        else:
            turns.append((cpu, which, start, end))
    return turns


def timelines(simulation: Simulation, turns: Turns) -> Iterator[Picture]:
    """Yield the plot of the whole time, and that of the first turns if there are more."""
    colors = colored(turns)
    names = list(colors)
    spans = [(cpu, names.index(kind(turns.names[task])), start, end) for cpu, task, start, end in turns.spans]
    rows = min(simulation.runs[0].cpus, ROWS)
    last = max(end for *_, end in spans)
    end = simulation.runs[0].end_ns if turns.dropped == 0 else last
    more = f" The first {rows} of {simulation.runs[0].cpus} CPUs." if rows < simulation.runs[0].cpus else ""
    cut = f" {dropped(turns.dropped, len(spans))}" if turns.dropped else ""
    others = " Faint: all others." if len(names) > len(COLORS) else ""
    whole = pieces([span for span in spans if span[0] < rows], end)
    caption = (
        "The whole time in pieces: the task that ran longest in each; no colour where a CPU was mostly idle or "
        "switching."
    )
    caption += more + cut + others
    yield Picture(_gantt(whole, colors, rows, (0, end), "timeline", "Tasks on the CPUs, the whole time"), caption)
    first = sorted((span for span in spans if span[0] < rows), key=lambda span: span[2])[:TURNS]
    if len(first) < len(spans):
        until = max(span[3] for span in first)
        caption = f"The first {counted(len(first), 'turn')}, each as it was."
        yield Picture(_gantt(first, colors, rows, (0, until), "first turns", "Tasks on the CPUs at first"), caption)


def _unit(ns: float) -> tuple[float, str]:
    return next(((size, unit) for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if ns >= size), (1.0, "ns"))


def _gantt(
    turns: Sequence[Turn], colors: dict[str, str], rows: int, limits: tuple[int, int], name: str, description: str
) -> str:
    size, unit = _unit(limits[1])
    with figure(0.9 + 0.32 * rows) as (picture, axes):
        entries = []
        for number, (name_of_kind, color) in enumerate(colors.items()):
            bars = [(cpu, start / size, (end - start) / size) for cpu, kind, start, end in turns if kind == number]
            for cpu in sorted({bar[0] for bar in bars}):
                row = [(start, width) for at, start, width in bars if at == cpu]
                axes.broken_barh(row, (cpu - 0.38, 0.76), facecolors=color, linewidth=0)
            if color != FAINT:
                entries.append((name_of_kind, color))
        axes.set_yticks(range(rows), [f"CPU {cpu}" for cpu in range(rows)])
        axes.set_ylim(rows - 0.5, -0.5)
        axes.set_xlim(limits[0] / size, max(limits[1], 1) / size)
        axes.set_xlabel(f"simulated time, {unit}")
        _legend(axes, entries)
        return svg(picture, f"simulation {name}", description)


def _legend(axes: Axes, entries: Sequence[tuple[str, str]]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=color, linewidth=0, label=label[:24]) for label, color in entries]
    axes.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(handles) or 1, frameon=False, fontsize=9
    )


def waits(run: SimulatedRun) -> Iterator[Picture]:
    """Yield the plot of the share of waits that exceed each time: of tasks for a CPU, of messages for being read."""
    lines = [("waiting for a CPU", run.wait, BEFORE), ("message, sent to read", run.message_latency, AFTER)]
    lines = [line for line in lines if len(line[1].survival) > 1 and line[1].largest_ns > 0]
    if not lines:
        return
    least = max(1, min(_shortest(latency) for _, latency, _ in lines))
    most = max(latency.largest_ns for _, latency, _ in lines)
    size, unit = _unit(most)
    with figure(2.9, width=WIDTH) as (picture, axes):
        for name, latency, color in lines:
            along, above = zip(*curve(latency, least / 1.2), strict=True)
            axes.step([ns / size for ns in along], above, where="post", color=color, label=name, linewidth=1.6)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(least / 1.2 / size, most * 1.2 / size)
        plain_ticks(axes.xaxis, (least / 1.2 / size, most * 1.2 / size), 9)
        shares = [share for line in lines for _, share in curve(line[1], least / 1.2) if share > 0]
        lowest = min(shares, default=0.01)
        axes.set_ylim(max(lowest / 2, 1e-9), 1.3)
        axes.yaxis.set_major_formatter(_percent)
        axes.grid(True, linewidth=0.5)
        axes.set_xlabel(f"longer than, {unit}")
        axes.set_ylabel("share")
        axes.legend(frameon=False, fontsize=9, labelcolor=INK)
        markup = svg(picture, "simulation waits", "How many waited longer than any time")
    yield Picture(markup, "The share that waited longer than a time; a line ends at the longest wait.")


def _shortest(latency: Latency) -> int:
    return next((upper for upper, _ in latency.buckets if upper > 0), 1)


def curve(latency: Latency, least: float) -> list[tuple[float, float]]:
    """Return the survival curve from `least` on, with one point for all shorter times; shares end at 0."""
    points = latency.survival
    before = [share for at, share in points if at <= least]
    return [(least, before[-1]), *((at, share) for at, share in points if at > least)]


def _percent(share: float, _: Any) -> str:
    return f"{100 * share:.4g} %"
