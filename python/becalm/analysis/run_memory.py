"""Memory over the time of one run, among what was recorded of a study. Pure. Public: RESIDENT, course."""

from __future__ import annotations

from collections.abc import Iterable

from becalm.load.record import Series
from becalm.stats.arrays import Positions

RESIDENT = "resident_bytes"
"""What the agent calls the samples of a run's memory (docs/reference/protocol.md, `series`)."""


def course(recorded: Iterable[Series], seqs: Positions) -> tuple[tuple[float, float], ...]:
    """(ns since the start, bytes) of the first of these runs that has samples; empty where none has."""
    mine = set(seqs.tolist())
    for series in recorded:
        if series.names == (RESIDENT,) and series.first in mine:
            return tuple((float(at or 0), float(size)) for at, size in series.rows if size is not None)
    return ()
