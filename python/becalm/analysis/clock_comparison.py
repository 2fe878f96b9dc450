"""The comparison of two evaluations of timers: figures that differ by more than the scatter of their repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from becalm.results.clock import ClockReport, FoundPair, WorkLength

FIGURES = ("t_min", "t_diff")

ALIKE = 1.1
"""The factor below which two figures count as equal: one search is exact only to the grid's refinement and its
noise."""

SAME_CLOCK = 1e-3
"""The relative difference in counter frequency above which two evaluations come from different machines."""


def same_clock(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return whether two statements of trust can come from one machine."""
    return bool(first["source"] == second["source"] and abs(first["hz"] / second["hz"] - 1) <= SAME_CLOCK)


def pairs(first: ClockReport, second: ClockReport) -> Iterator[FoundPair]:
    """Yield a pair for each figure that both evaluations have, in the order of the first."""
    others = {(cell.timer, cell.flush): cell for cell in second.cells}
    for cell in first.cells:
        other = others.get((cell.timer, cell.flush))
        for figure in FIGURES if other is not None else ():
            before, after = getattr(cell, figure), getattr(other, figure)
            yield FoundPair(cell.timer, cell.flush, figure, before, after, _differs(before, after))


def _differs(first: WorkLength | None, second: WorkLength | None) -> bool | None:
    if first is None or second is None:
        return None
    shorter, longer = sorted((first, second), key=lambda length: length.ns)
    return shorter.range_ns[1] < longer.range_ns[0] and longer.ns > ALIKE * shorter.ns
