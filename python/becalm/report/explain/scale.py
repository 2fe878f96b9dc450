"""One scale for the diagrams of all programs and machines, so that they can be compared.

Mund (1996) draws three measures of load into one diagram over the delay factor, each times a stated multiplier, and
keeps both axes the same throughout. The run queue over CPUs and the use of the CPUs are drawn as they are (1 is a task
per CPU, and all CPUs). A measure with another unit is multiplied by 1, 2 or 5 times a power of ten, such that its
overall largest value stays within the axis. A measure that was always zero is drawn at zero; an unknown one is named.

Public: DiagramScale, scale, delayed_from, value, FIRST, SECOND, LABELS.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from becalm.load.background_load import USED
from becalm.load.explanation import Case, LoadPoint

FIRST, SECOND = ("queue", "cpu", "page_outs"), ("disk", "network", "nfs")
"""The measures of the two diagrams: with the expected curve, and without."""

LABELS = {
    "queue": "run queue / CPUs",
    "cpu": "others' use of all CPUs",
    "page_outs": "page-outs, MiB/s",
    "disk": "disk, MiB/s",
    "network": "network, MiB/s",
    "nfs": "NFS, calls/s",
}

PLAIN = ("queue", "cpu")
"""Measures without a unit, which are never multiplied."""

LEAST_TOP = 1.3
"""The least height of the axis, which shows a task per CPU, from where a delay is expected, even without load."""


class DiagramScale(msgspec.Struct, frozen=True):
    """The scale of diagrams: the ends of the horizontal axis (`delay`), the end of the vertical axis (`top`), which
    begins at 0, and multipliers by measure."""

    delay: tuple[float, float]
    top: float
    multipliers: Mapping[str, float]

    def label(self, name: str) -> str:
        """Return the label of a measure: its name and its multiplier."""
        times = self.multipliers[name]
        return LABELS[name] if times == 1 else f"{LABELS[name]}, × {times:g}"


def value(point: LoadPoint, name: str) -> float | None:
    """Return a measure before it is multiplied: the whole run queue over the CPUs, otherwise the load of others."""
    if name == "queue":
        return None if point.queue is None or not point.cpus else point.queue / point.cpus
    return point.measures.get(USED if name == "cpu" else name)


def delayed_from(case: Case) -> float:
    """Return the run queue over CPUs from which a delay is expected: 1, or the program's own tasks per CPU if it has
    more tasks than there are CPUs."""
    late = [
        queue / point.delay.mund
        for point in case.points
        if point.delay.mund and point.delay.mund > 1 and (queue := value(point, "queue")) is not None
    ]
    return max(1.0, median(late)) if late else 1.0


def scale(cases: Sequence[Case]) -> DiagramScale:
    """Return the scale that fits all of these cases."""
    points = [point for case in cases for point in case.points]
    delays = [point.delay.factor for point in points] or [1.0]
    largest = {name: _largest(points, name) for name in LABELS}
    top = 1.05 * max(LEAST_TOP, *(largest[name] for name in PLAIN))
    multipliers = {name: 1.0 if name in PLAIN else _multiplier(largest[name], top) for name in LABELS}
    most = max(*delays, 1.05)
    # A delay is a ratio of times, which is never negative.
    return DiagramScale((max(0.0, min(0.95, *delays) - 0.01 * most), most * 1.04), top, multipliers)


def _largest(points: Sequence[LoadPoint], name: str) -> float:
    return max((number for point in points if (number := value(point, name)) is not None), default=0.0)


def _multiplier(largest: float, top: float) -> float:
    """Return the largest of …, 0.1, 0.2, 0.5, 1, 2, 5, … that keeps the value within the axis; 1 for 0."""
    if largest <= 0:
        return 1.0
    power = math.floor(math.log10(top / largest))
    fitting = [step * 10.0**power for step in (1, 2, 5) if step * 10.0**power * largest <= top]
    return round(max(fitting, default=10.0**power), 12)
