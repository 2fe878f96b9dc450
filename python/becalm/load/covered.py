"""The runs of records, in one pass over the runs: there may be millions, and they are never all in memory.

Public: loaded, covered, Covered, RunWindow.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from becalm.load.others import Others
from becalm.load.record import Load
from becalm.nouns.run import Run


class RunWindow:
    """The runs around the record that is being looked at, of runs in order."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = iter(runs)
        self._near: deque[Run] = deque()

    def between(self, first: int, last: int) -> list[Run]:
        """Return the runs from `first` to `last`, by `seq`, and forget those before `first`."""
        near = self._near
        while near and near[0].seq < first:
            near.popleft()
        while not near or near[-1].seq <= last:
            run = next(self._runs, None)
            if run is None:
                break
            if run.seq >= first:
                near.append(run)
        return [run for run in near if run.seq <= last]

    def end(self) -> None:
        """Read the runs that are left: only at its end does a store know how many it had to leave out."""
        self._near.clear()
        deque(self._runs, maxlen=0)


class Covered(NamedTuple):
    """A record of others, with the loads of its runs and the runs of each load."""

    record: Others
    loads: list[tuple[Load, list[Run]]]

    @property
    def runs(self) -> list[Run]:
        """The runs of the record, in order."""
        return [run for _, runs in self.loads for run in runs]


def loaded(runs: Iterable[Run], loads: Sequence[Load]) -> Iterator[tuple[Load, list[Run]]]:
    """Yield each load with its runs, except where one of them is missing.

    Both arguments are in the order of the runs.
    """
    window = RunWindow(runs)
    for load in loads:
        own = window.between(load.first, load.last)
        if own and len(own) == load.last - load.first + 1:
            yield load, own
    window.end()


def covered(runs: Iterable[Run], loads: Sequence[Load], others: Sequence[Others]) -> Iterator[Covered]:
    """Yield each record of others with its loads and runs, except where one of the runs is missing or has no load.

    All arguments are in the order of the runs.
    """
    window = RunWindow(runs)
    begins = [load.first for load in loads]
    for record in others:
        by_seq = {run.seq: run for run in window.between(record.first, record.last)}
        near = loads[bisect_left(begins, record.first) : bisect_right(begins, record.last)]
        within = [
            (load, [by_seq[seq] for seq in range(load.first, load.last + 1) if seq in by_seq])
            for load in near
            if load.last <= record.last
        ]
        if sum(len(own) for _, own in within) == record.last - record.first + 1:
            yield Covered(record, within)
    window.end()
