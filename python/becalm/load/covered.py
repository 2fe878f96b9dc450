"""The records of others whose runs are all known and covered by loads.

Public: covered, Covered.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from becalm.load.others import Others
from becalm.load.record import Load
from becalm.nouns.run import Run


class Covered(NamedTuple):
    """A record of others, with the loads of its runs and the runs of each load."""

    record: Others
    loads: list[tuple[Load, list[Run]]]

    @property
    def runs(self) -> list[Run]:
        """The runs of the record, in order."""
        return [run for _, runs in self.loads for run in runs]


def covered(runs: Sequence[Run], loads: Sequence[Load], others: Sequence[Others]) -> Iterator[Covered]:
    """Yield each record of others with its loads and runs, except where one of the runs is missing or has no load.

    All arguments are in the order of the runs.
    """
    by_seq = {run.seq: run for run in runs}
    begins = [load.first for load in loads]
    for record in others:
        near = loads[bisect_left(begins, record.first) : bisect_right(begins, record.last)]
        within = [
            (load, [by_seq[seq] for seq in range(load.first, load.last + 1) if seq in by_seq])
            for load in near
            if load.last <= record.last
        ]
        if sum(len(own) for _, own in within) == record.last - record.first + 1:
            yield Covered(record, within)
