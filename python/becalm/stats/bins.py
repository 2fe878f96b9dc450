"""A histogram as a value; `becalm.stats.histogram` makes it. Apart, so that verdicts are read without numpy."""

from __future__ import annotations

from becalm.values import dataclass


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of runs in equal bins from `low` to `high` (ns), and of those `below` and `above`."""

    low: float
    high: float
    counts: tuple[int, ...]
    below: int
    above: int
