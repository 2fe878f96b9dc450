"""Which timer is for what: of those whose reads are ordered with the code around them, the one for the shortest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from becalm.results.clock import ClockCheck, ClockReport, TimerCell
from becalm.store.timer_limits import KeptLimit

UNORDERED = {"bare", "PAPI_get_real_cyc"}
"""Timers whose reads may be executed before the work has ended or after it has begun: measured, never recommended."""

ALIKE = 1.1
"""t_min of two timers that differ by less than this factor are as good as the same; a read that is cheaper by more than
that then counts."""


@dataclass(frozen=True, slots=True)
class TimerChoice:
    """The timer for wall time at a flush size."""

    flush: str
    cell: TimerCell


def choices(cells: Sequence[TimerCell]) -> tuple[TimerChoice, ...]:
    """The timer for each flush size, in the order of the cells; a flush at which nothing could be measured has none."""
    flushes = dict.fromkeys(cell.flush for cell in cells)
    found = ((flush, _best(cell for cell in cells if cell.flush == flush)) for flush in flushes)
    return tuple(TimerChoice(flush, cell) for flush, cell in found if cell is not None)


def check(cells: Sequence[TimerCell], wanted_ns: int) -> ClockCheck:
    """Whether a region of that length can be timed by the best timer there is, with everything in the nearest cache.

    By the median of its searches: what was seen in the quietest of them alone cannot be relied on.
    """
    nearest = cells[0].flush if cells else ""
    best = _best(cell for cell in cells if cell.flush == nearest)
    if best is None or best.t_min is None:
        return ClockCheck(wanted_ns, None, None)
    return ClockCheck(wanted_ns, best.timer, best.t_min.typical_ns)


REGIONS = ("barrier", "L1")
"""The timer that reads as becalm-clock and becalm_clock.h do, with all code near."""


def region_limit(report: ClockReport) -> KeptLimit | None:
    """Return what single timed regions can show by an evaluation; None without an answer, or of an emulated machine."""
    if report.emulated or not report.trust:
        return None
    cell = next((cell for cell in report.cells if (cell.timer, cell.flush) == REGIONS), None)
    if cell is None or cell.t_min is None or cell.t_diff is None:
        return None
    shown = cell.quantum if cell.t_diff_below_quantum and cell.quantum is not None else cell.t_diff.ns
    return KeptLimit(float(report.trust["hz"]), float(shown), cell.t_min.ns)


def _best(cells: Iterable[TimerCell]) -> TimerCell | None:
    found = [
        (cell.t_min.ns, cell.median_cost, cell)
        for cell in cells
        if cell.t_min is not None and cell.unit == "nanoseconds" and cell.timer not in UNORDERED
    ]
    if not found:
        return None
    shortest = min(ns for ns, _, _ in found)
    alike = [(ns, cost, cell) for ns, cost, cell in found if ns <= ALIKE * shortest]
    cheapest = min(cost for _, cost, _ in alike)
    return min((ns, cost, cell.timer, cell) for ns, cost, cell in alike if cost <= ALIKE * cheapest)[3]
