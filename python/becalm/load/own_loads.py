"""Records of load that cover one run alone, found by its number: a study of a million runs may have a million of them.

So they are read when somebody asks for those of some runs, and never all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
import numpy as np

from becalm.load.record import Load
from becalm.stats.arrays import Ints


class OwnLoads(msgspec.Struct, frozen=True):
    """`seqs`: the numbers of all runs that have one, ascending. `read` gives those of some of these runs."""

    seqs: Ints
    read: Callable[[Sequence[int]], Mapping[int, Load]]

    @classmethod
    def of(cls, loads: Iterable[Load] = ()) -> OwnLoads:
        """Return the loads of records in memory."""
        own = {load.first: load for load in loads if load.first == load.last}
        return cls(np.array(sorted(own), dtype=np.int64), lambda seqs: {seq: own[seq] for seq in seqs})
