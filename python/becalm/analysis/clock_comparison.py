"""Two evaluations of timers side by side: which figures differ by more than their repetitions scatter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from becalm.results.clock import ClockReport, FoundPair, WorkLength

FIGURES = ("t_min", "t_diff")

ALIKE = 1.1
"""An evaluation in one search is known to within the grid's refinement and its own noise: a tenth is no difference."""

SAME_CLOCK = 1e-3
"""Two evaluations whose counters differ by more than this share in frequency are of different machines."""


def same_clock(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two statements of trust can be of one machine."""
    return bool(first["source"] == second["source"] and abs(first["hz"] / second["hz"] - 1) <= SAME_CLOCK)


def pairs(first: ClockReport, second: ClockReport) -> Iterator[FoundPair]:
    """Each figure of what both have measured, in the order of the first."""
    there = {(cell.timer, cell.flush): cell for cell in second.cells}
    for cell in first.cells:
        other = there.get((cell.timer, cell.flush))
        for figure in FIGURES if other is not None else ():
            one, two = getattr(cell, figure), getattr(other, figure)
            yield FoundPair(cell.timer, cell.flush, figure, one, two, _differs(one, two))


def _differs(first: WorkLength | None, second: WorkLength | None) -> bool | None:
    if first is None or second is None:
        return None
    below, above = sorted((first, second), key=lambda each: each.ns)
    return below.range_ns[1] < above.range_ns[0] and above.ns > ALIKE * below.ns
