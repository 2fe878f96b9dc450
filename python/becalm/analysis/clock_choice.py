"""The choice of a timer: among timers whose reads are ordered with the code around them, the best for short regions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from becalm.results.clock import ClockCheck, ClockReport, TimerCell
from becalm.store.timer_limits import TimerLimits

UNORDERED = {"bare", "PAPI_get_real_cyc"}
"""The timers whose reads may be executed before the work has ended or after it has begun: never recommended."""

ALIKE = 1.1
"""The factor below which the t_min of two timers count as equal; then the one with the cheaper read is chosen."""


class TimerChoice(msgspec.Struct, frozen=True):
    """The timer for wall time at a flush size."""

    flush: str
    cell: TimerCell


def choices(cells: Sequence[TimerCell]) -> tuple[TimerChoice, ...]:
    """Return the timer for each flush size, in the order of the cells, without flush sizes at which nothing was
    measured."""
    flushes = dict.fromkeys(cell.flush for cell in cells)
    best = ((flush, _best(cell for cell in cells if cell.flush == flush)) for flush in flushes)
    return tuple(TimerChoice(flush, cell) for flush, cell in best if cell is not None)


def check(cells: Sequence[TimerCell], length_ns: int) -> ClockCheck:
    """Return whether the best timer can time a region of that length, with everything in the nearest cache.

    The answer uses the median of the searches: the quietest of them alone is not reliable.
    """
    nearest = cells[0].flush if cells else ""
    best = _best(cell for cell in cells if cell.flush == nearest)
    if best is None or best.t_min is None:
        return ClockCheck(length_ns, None, None)
    return ClockCheck(length_ns, best.timer, best.t_min.typical_ns)


REGIONS = ("barrier", "L1")
"""The timer and flush size that read as becalm-clock and becalm_clock.h do, with all code in the nearest cache."""


def region_limit(report: ClockReport) -> TimerLimits | None:
    """Return the limit of single timed regions from an evaluation; None without one, or for an emulated machine."""
    if report.emulated or not report.trust:
        return None
    cell = next((cell for cell in report.cells if (cell.timer, cell.flush) == REGIONS), None)
    if cell is None or cell.t_min is None or cell.t_diff is None:
        return None
    difference = cell.quantum if cell.t_diff_below_quantum and cell.quantum is not None else cell.t_diff.ns
    return TimerLimits(float(report.trust["hz"]), float(difference), cell.t_min.ns)


def _best(cells: Iterable[TimerCell]) -> TimerCell | None:
    candidates = [
        (cell.t_min.ns, cell.median_cost, cell)
        for cell in cells
        if cell.t_min is not None and cell.unit == "nanoseconds" and cell.timer not in UNORDERED
    ]
    if not candidates:
        return None
    shortest = min(ns for ns, _, _ in candidates)
    shortest_timers = [(ns, cost, cell) for ns, cost, cell in candidates if ns <= ALIKE * shortest]
    cheapest = min(cost for _, cost, _ in shortest_timers)
    return min((ns, cost, cell.timer, cell) for ns, cost, cell in shortest_timers if cost <= ALIKE * cheapest)[3]
