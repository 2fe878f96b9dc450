"""The memory of one run over its time, from the records of a study. Public: RESIDENT, memory_course."""

from __future__ import annotations

from collections.abc import Iterable

from becalm.load.record import Series
from becalm.stats.arrays import Positions

RESIDENT = "resident_bytes"
"""The name that the agent gives to the samples of a run's memory (docs/reference/protocol.md, `series`)."""


def memory_course(recorded: Iterable[Series], seqs: Positions) -> tuple[tuple[float, float], ...]:
    """Return (ns since the start, bytes) of the first of these runs that has samples; empty where none has."""
    wanted_seqs = set(seqs.tolist())
    for series in recorded:
        if series.names == (RESIDENT,) and series.first in wanted_seqs:
            return tuple((float(time_ns or 0), float(size)) for time_ns, size in series.rows if size is not None)
    return ()
