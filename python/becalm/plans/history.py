"""The runs of a study so far, in a compact form: twelve bytes per run, four per round, four more for a dropped round.

`History` takes rows as a host delivers them and answers what a plan and a judge ask: the time used, the number of
complete rounds, the times of each program by round. It holds no more than that; the full record of a run
is in the store.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.nouns.metric import Metric
from becalm.nouns.run import Outcome, Run
from becalm.stats.arrays import Floats, Ints, Positions, among

Printed = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
"""Sequence numbers of runs, shape (runs,), and their metrics, shape (runs, metrics)."""


def by_round(printed: Printed, seqs: Positions) -> Floats:
    """Return the metrics of the runs `seqs`, in the order of `seqs`, shape (rounds, metrics).

    Raises KeyError when one of them has none.
    """
    rows = np.searchsorted(printed[0], seqs)
    if (np.take(printed[0], rows, mode="clip") != seqs).any():
        raise KeyError("A run has no metrics.")
    return printed[1][rows]


class Pairs(msgspec.Struct, frozen=True):
    """Complete rounds: `log_wall[program]` and `position[program]`, each with one value per round, in their order.

    A retired program has values of the first rounds only. `log_wall` is of the metric where there is one, with the sign
    turned where larger values are better, so that smaller is always better.
    """

    log_wall: tuple[Floats, ...]
    position: tuple[Positions, ...]

    @property
    def rounds(self) -> int:
        """Number of rounds in which every program ended well."""
        return max(map(len, self.log_wall), default=0)


class GrowingColumn:
    """Numbers that are appended and then read as one array, without a copy and with little spare room."""

    def __init__(self, kind: npt.DTypeLike) -> None:
        self._room: npt.NDArray[Any] = np.empty(64, dtype=kind)
        self._length = 0

    def append(self, value: float) -> None:
        """Add one number."""
        if self._length == len(self._room):
            larger = np.empty(self._length + self._length // 4, dtype=self._room.dtype)
            larger[: self._length] = self._room
            self._room = larger
        self._room[self._length] = value
        self._length += 1

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> npt.NDArray[Any]:
        """The values appended so far; a view that must not be written to."""
        return self._room[: self._length]


STARTING_NS = 500_000
"""CPU time in which the process is created, before the time of a program begins, ns."""


def _logarithms(times_ns: Ints) -> Floats:
    """Return the logarithms of times; a time of 0 counts as 1 ns."""
    times = np.maximum(times_ns, 1).astype(np.float64)
    return np.log(times, out=times)


class History:
    """The runs of one study in the order they were made.

    - `most_cpus`: the most CPUs that a program used at the same time, on average over a run.
    - `active`: the programs of rounds to come; a retired program has values of the first rounds only.
    - `metric`: the number that is compared in place of wall times: the first one that the programs print.
    - `timed`: whether the wall times of all runs are known; otherwise `wall_ns` means nothing.
    - `spares_alongside`: whether a program that fails next to another one only sets `failed_alongside`, instead of
      being the study's `failure`.
    """

    def __init__(self, programs: int, metric: Metric | None = None) -> None:
        self.programs = programs
        self.metric = metric
        self.timed = True
        self.active = tuple(range(programs))
        self._taken = 0
        self.next_seq = 0
        self.next_round = 0
        self.warmups = 0
        self.first_started_ns: int | None = None
        self.last_ended_ns: int | None = None
        self.failure: Run | None = None
        self.spares_alongside = False
        self.failed_alongside = False
        self.interrupted = False
        self.left_behind = [0] * programs
        self.good = [0] * programs
        self.bad = [0] * programs
        self._wall = [GrowingColumn(np.int64) for _ in range(programs)]
        self._seq = [GrowingColumn(np.int32) for _ in range(programs)]
        self._round = GrowingColumn(np.int32)
        self.dropped = GrowingColumn(np.int32)
        self._counted: npt.NDArray[np.bool_] | None = None
        self._printed = [GrowingColumn(np.float64) for _ in range(programs if metric else 0)]
        self.most_cpus = 0.0
        self._open: dict[int, dict[int, tuple[int, int, float]]] = {}

    def __len__(self) -> int:
        return self._taken

    def extend(self, rows: Iterable[Run]) -> None:
        """Take rows in the order they were run."""
        for run in rows:
            self._take(run)

    def _take(self, run: Run) -> None:
        self._taken += 1
        self.next_seq = run.seq + 1
        if run.left_behind:
            self.left_behind[run.workload] += 1
        if self.first_started_ns is None and run.round >= 0:
            self.first_started_ns = run.started_ns
        self.timed = self.timed and run.wall_ns is not None
        wall_ns = run.wall_ns or 0
        self.last_ended_ns = run.started_ns + wall_ns
        if run.outcome != Outcome.OK or (self.metric is not None and run.metrics is None):
            if self.spares_alongside and run.apart_ns is not None and run.outcome != Outcome.ABORTED:
                self.failed_alongside = True
                return
            self.bad[run.workload] += run.round >= 0
            if run.outcome != Outcome.ABORTED and self.failure is None:
                self.failure = run
            return
        if run.user_ns is not None and run.system_ns is not None and wall_ns:
            self.most_cpus = max(self.most_cpus, (run.user_ns + run.system_ns - STARTING_NS) / wall_ns)
        if run.round < 0:
            self.warmups += 1
            return
        self.good[run.workload] += 1
        self.next_round = max(self.next_round, run.round + 1)
        done = self._open.setdefault(run.round, {})
        done[run.workload] = (run.seq, wall_ns, run.metrics[0] if run.metrics else 0.0)
        if len(done) == len(self.active):
            for program, (seq, taken_ns, printed) in done.items():
                self._wall[program].append(taken_ns)
                if self._printed:
                    self._printed[program].append(printed)
                self._seq[program].append(seq)
            self._round.append(run.round)
            self._counted = None
            del self._open[run.round]

    def retire(self, programs: Iterable[int]) -> None:
        """Leave programs out of the rounds to come."""
        gone = set(programs)
        self.active = tuple(program for program in self.active if program not in gone)

    def drop(self, rounds: Iterable[int]) -> None:
        """Leave whole rounds out by their numbers, whether complete or not; nothing else of the history changes."""
        for number in rounds:
            self.dropped.append(number)
        self._counted = None

    @property
    def finished(self) -> Positions:
        """Numbers of the complete rounds, including dropped ones; a view that must not be written to."""
        return self._round.values

    @property
    def complete(self) -> int:
        """The number of complete rounds, including dropped ones."""
        return len(self._round)

    def _mask(self) -> npt.NDArray[np.bool_]:
        if self._counted is None:
            self._counted = ~among(self._round.values, self.dropped.values)
        return self._counted

    def _values(self, column: GrowingColumn) -> npt.NDArray[Any]:
        return column.values[self._mask()[: len(column)]] if self.dropped else column.values

    @property
    def rounds(self) -> int:
        """The number of complete rounds that count: not dropped, every program ended well."""
        return int(self._mask().sum()) if self.dropped else len(self._round)

    @property
    def round_ns(self) -> float:
        """The expected time of a round of all active programs, ns; 0 before the first round."""
        if not self.complete:
            return 0.0
        if len(self.active) == self.programs:
            return self.elapsed_ns / self.complete
        spent = sum(float(column.values.sum()) for column in self._wall)
        ahead = sum(float(self._wall[program].values.mean()) for program in self.active)
        return self.elapsed_ns * ahead / spent if spent > 0 else self.elapsed_ns / self.complete

    @property
    def elapsed_ns(self) -> int:
        """The time from the start of the first counted run to the end of the last one, ns, by the host's clock."""
        if self.first_started_ns is None or self.last_ended_ns is None:
            return 0
        return self.last_ended_ns - self.first_started_ns

    def pairs(self) -> Pairs:
        """Return the compared values of the complete rounds as arrays, turned so that smaller is better."""
        sign = -1.0 if self.metric is not None and self.metric.higher else 1.0
        return Pairs(
            # The agent has checked that these are above zero.
            tuple(sign * np.log(self._values(column)) for column in self._printed)
            if self._printed
            else tuple(_logarithms(self._values(column)) for column in self._wall),
            tuple(self._values(column) for column in self._seq),
        )

    def wall_ns(self, program: int) -> Ints:
        """Return the wall times of one program in the complete rounds, in order, ns; must not be written to."""
        return self._values(self._wall[program])

    def printed(self, program: int) -> Floats:
        """Return the metric of one program in the complete rounds, in order; a view that must not be written to."""
        return self._values(self._printed[program])

    def response(self, program: int) -> Floats:
        """Return the compared values of one program in the complete rounds: its metric, else its wall times in ns."""
        return self.printed(program) if self._printed else self.wall_ns(program).astype(np.float64)

    def seqs(self, program: int) -> Positions:
        """Return the sequence numbers of the runs of `wall_ns`."""
        return self._values(self._seq[program])
