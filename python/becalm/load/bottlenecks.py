"""The bottlenecks of programs: the bar of a waterfall with most of a delay, and the two-way table. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from becalm.load.explanation import Bottleneck, Case, LoadPoint
from becalm.load.waterfall import MEMORY, NAMES, QUEUE, REFERENCE, STEAL, Bar

SLOW = 1.005
"""The mean delay factor up to which there is no bottleneck: half a percent."""


FORCED = (QUEUE, MEMORY, STEAL)
"""Bars that are empty on a machine that nobody else uses: the kernel counts that the program was kept from running."""

LEAST_OF_DELAY, LEAST_OF_TIME = 0.5, 0.1
"""The least shares of the delay and of the time at which a forced wait is the answer, however much runs differ."""


def forced_wait(bars: Sequence[Bar], delay: float) -> Bar | None:
    """Return the counted wait that others force on the program, if most of the mean run's delay lies in it."""
    name, share = bottleneck(bars, delay)
    if name not in FORCED or (share or 0.0) < LEAST_OF_DELAY:
        return None
    wall = sum(bar.ns or 0.0 for bar in bars)
    return next((bar for bar in bars if bar.name == name and (bar.ns or 0.0) >= LEAST_OF_TIME * wall), None)


def mean_delay(points: Sequence[LoadPoint], runs: int) -> float:
    """Return the delay factor of the mean run."""
    return sum(point.delay.factor * point.runs for point in points) / runs


def bottleneck(bars: Iterable[Bar], delay: float) -> tuple[str | None, float | None]:
    """Return the largest bar besides the reference, and its share of all such bars; None for both without a delay."""
    if delay < SLOW:
        return None, None
    above = [(bar.name, bar.ns) for bar in bars if bar.name != REFERENCE and bar.ns is not None and bar.ns > 0]
    if not above:
        return None, None
    name, most = max(above, key=lambda bar: bar[1])
    return name, most / sum(ns for _, ns in above)


def bottlenecks(cases: Sequence[Case]) -> list[Bottleneck]:
    """Return the two-way table: each program on each machine, then each machine and each program over all cases."""
    result = [
        Bottleneck(
            c.program,
            c.machine,
            c.runs,
            mean_delay(c.points, c.runs),
            c.bottleneck,
            c.bottleneck_share,
            c.attribution.cause,
        )
        for c in cases
    ]
    machines = dict.fromkeys(case.machine for case in cases)
    programs = dict.fromkeys(case.program for case in cases)
    if len(programs) > 1:
        result += [_together([c for c in cases if c.machine == m], None, m) for m in machines]
    if len(machines) > 1:
        result += [_together([c for c in cases if c.program == p], p, None) for p in programs]
    return result


def _together(cases: Sequence[Case], program: str | None, machine: str | None) -> Bottleneck:
    """Return the bar that dominates over several cases, by its mean share of the delay; all cases have one weight."""
    shares: dict[str, float] = dict.fromkeys(NAMES[1:], 0.0)
    slow = [case for case in cases if case.bottleneck is not None]
    for case in slow:
        above = {bar.name: max(0.0, bar.ns or 0.0) for bar in case.bars if bar.name != REFERENCE}
        for name, ns in above.items():
            shares[name] += ns / sum(above.values()) / len(slow)
    bar = max(shares, key=lambda name: shares[name]) if slow else None
    causes = {case.attribution.cause for case in slow}
    return Bottleneck(
        program,
        machine,
        sum(case.runs for case in cases),
        sum(mean_delay(case.points, case.runs) for case in cases) / len(cases),
        bar,
        None if bar is None else shares[bar],
        causes.pop() if len(causes) == 1 else None,
    )
