"""A histogram as a value, built by `becalm.stats.histogram`; separate, so that reading verdicts does not import
numpy."""

from __future__ import annotations

import msgspec


class Histogram(msgspec.Struct, frozen=True):
    """The counts of values in equal bins from `low` to `high` (ns), and of those `below` and `above`."""

    low: float
    high: float
    counts: tuple[int, ...]
    below: int
    above: int
