"""Records of load that cover one run alone, found by its number.

A study of a million runs may have a million of them, so they are only read for requested runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
import numpy as np

from becalm.load.record import Load
from becalm.stats.arrays import Ints


class OwnLoads(msgspec.Struct, frozen=True):
    """The numbers of all runs with such a record, ascending (`seqs`), and a function that reads those of some runs."""

    seqs: Ints
    read: Callable[[Sequence[int]], Mapping[int, Load]]

    @classmethod
    def of(cls, loads: Iterable[Load] = ()) -> OwnLoads:
        """Return the value for records in memory."""
        own = {load.first: load for load in loads if load.first == load.last}
        return cls(np.array(sorted(own), dtype=np.int64), lambda seqs: {seq: own[seq] for seq in seqs})
