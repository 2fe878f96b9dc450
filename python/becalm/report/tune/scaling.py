"""The scaling curve: programs that differ only in a number, with and without the settings.

`becalm tune --try 12 'hackbench -g 5' 'hackbench -g 10' 'hackbench -g 20'` measures one, and so does a search over the
same programs.
"""

from __future__ import annotations

import re

import msgspec

from becalm.report.drawing import AFTER, BEFORE, FAINT, figure, svg
from becalm.report.table import Table
from becalm.results.tune import Arm, ArmComparison, TuneVerdict
from becalm.results.tune_arms import BASELINE
from becalm.wording import tune as sentences
from becalm.wording.numbers import duration
from becalm.wording.tune_time import between, gain, sized

NUMBER = re.compile(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)(?![A-Za-z0-9.])")

LEAST = 3
"""The number of programs from which a curve is drawn."""


class Curve(msgspec.Struct, frozen=True):
    """A scaling curve. `name`: the programs with … for the number; `points`: each number with both arms and their
    comparison."""

    name: str
    points: tuple[tuple[float, Arm, Arm, ArmComparison], ...]


def curve(verdict: TuneVerdict) -> Curve | None:
    """Return the programs as points of a curve of times; None where they do not form one."""
    series = numbered(verdict.programs)
    if series is None or verdict.metric is not None:
        return None
    name, numbers = series
    arms = {(arm.name, arm.program): arm for arm in verdict.arms if arm.runs}
    points = []
    for comparison in sentences.headline(verdict):
        pair = arms.get((BASELINE, comparison.program)), arms.get((comparison.arm, comparison.program))
        if pair[0] is not None and pair[1] is not None:
            points.append((numbers[comparison.program], pair[0], pair[1], comparison))
    return Curve(name, tuple(sorted(points, key=lambda point: point[0]))) if len(points) >= LEAST else None


def numbered(programs: tuple[str, ...]) -> tuple[str, dict[str, float]] | None:
    """Return the common form of programs that differ in one number, as "hackbench -g …", with the numbers."""
    if len(programs) < LEAST:
        return None
    split = [NUMBER.split(program) for program in programs]
    if len({len(parts) for parts in split}) != 1:
        return None
    places = [place for place in range(len(split[0])) if len({parts[place] for parts in split}) > 1]
    # In the result of NUMBER.split every second part is a number.
    if len(places) != 1 or places[0] % 2 == 0:
        return None
    (place,) = places
    numbers = {program: float(parts[place]) for program, parts in zip(programs, split, strict=True)}
    if len(set(numbers.values())) < len(programs):
        return None
    return "".join("…" if index == place else part for index, part in enumerate(split[0])), numbers


def table(scaling_curve: Curve, level: str) -> Table:
    """Return the table of both times by the number."""
    rows = tuple(
        (
            f"{number:g}",
            duration(before.mean_ns.value),
            duration(after.mean_ns.value),
            sized(gain(comparison.ratio)),
            between(gain(comparison.ratio)),
        )
        for number, before, after, comparison in scaling_curve.points
    )
    note = f"Mean times of fresh runs of {scaling_curve.name}, with the settings and without, interleaved."
    return Table("Scaling", ("…", "no settings", "with them", "time saved", level), rows, (0, 1, 2, 3, 4), note)


def picture(scaling_curve: Curve) -> str:
    """Return the plot of both curves with their intervals."""
    from matplotlib.ticker import NullLocator

    with figure(3.2, width=5.2) as (picture, axes):
        numbers = [point[0] for point in scaling_curve.points]
        for place, color, name in ((1, BEFORE, "no settings"), (2, AFTER, "with them")):
            arms: list[Arm] = [point[place] for point in scaling_curve.points]  # type: ignore[misc]
            times = [arm.mean_ns.value / 1e9 for arm in arms]
            low = [max(0.0, time - arm.mean_ns.low / 1e9) for time, arm in zip(times, arms, strict=True)]
            high = [max(0.0, arm.mean_ns.high / 1e9 - time) for time, arm in zip(times, arms, strict=True)]
            axes.errorbar(
                numbers, times, yerr=[low, high], fmt="o-", color=color, markersize=5, capsize=4, linewidth=1.6
            )
            axes.annotate(
                name, (numbers[-1], times[-1]), xytext=(7, 0), textcoords="offset points", color=color, va="center"
            )
        if numbers[0] > 0 and numbers[-1] / numbers[0] >= 8:
            axes.set_xscale("log")
            axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(numbers, [f"{number:g}" for number in numbers])
        axes.set_ylim(bottom=0)
        axes.set_xlabel(scaling_curve.name)
        axes.set_ylabel("mean time, s")
        axes.grid(True, color=FAINT, linewidth=0.5)
        axes.set_axisbelow(True)
        times_by_number = "; ".join(
            f"{number:g} {duration(before.mean_ns.value)} and {duration(after.mean_ns.value)}"
            for number, before, after, _ in scaling_curve.points
        )
        return svg(
            picture, "scaling", f"Mean times of {scaling_curve.name} without and with the settings: {times_by_number}."
        )
