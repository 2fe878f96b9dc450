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
    for each in recorded:
        if each.names == (RESIDENT,) and each.first in mine:
            return tuple((float(at or 0), float(size)) for at, size in each.rows if size is not None)
    return ()
