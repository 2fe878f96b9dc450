"""The table of sessions: logarithms of benchmarks, in which machines are joined.

Two machines are joined where commits were measured on both, with at least `BRIDGE` sessions on each side: the
difference between these sessions is subtracted, and its uncertainty enters that of the sessions around the join.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from becalm.results.history import HistorySession
from becalm.stats.arrays import Floats, Ints

BRIDGE = 3
"""The fewest sessions of the same commits on each of two machines that join them."""

MOST_BRIDGE = 20
"""The most sessions that join two machines, the first ones: a join does not change with each new session."""

SIDE = 10
"""The number of sessions that the uncertainty of a join affects: as many as the longest look at a step has after it."""

NORMAL = 1.959964

Key = tuple[str, str]
"""The name and unit of a benchmark."""


class SessionBenchmark(msgspec.Struct, frozen=True):
    """A benchmark in one session: median, its interval, good and failed runs."""

    name: str
    unit: str
    higher_is_better: bool
    value: float
    low: float
    high: float
    runs: int
    failed: int

    @property
    def key(self) -> Key:
        """The fields that identify a benchmark."""
        return self.name, self.unit


class RecordedSession(msgspec.Struct, frozen=True):
    """A stored session: its place in history, its machine (name, processor, kernel, settings), and its benchmarks."""

    session: HistorySession
    machine: tuple[str, str, str, str]
    measured: tuple[SessionBenchmark, ...]
    references: tuple[str, ...] = ()


class SessionTable(msgspec.Struct, frozen=True):
    """A table of sessions in the order of history.

    - `y`: logarithms of typical values, shape (sessions, benchmarks), NaN for none; `errors`: their standard errors.
    - `marks`: numbers of the commits, shape (sessions,).
    - `machine`: the number of each session's machine.
    """

    keys: tuple[Key, ...]
    y: Floats
    errors: Floats
    marks: Floats
    machine: tuple[int, ...]
    machines: int
    higher: tuple[bool, ...]

    @classmethod
    def of(cls, recorded: Sequence[RecordedSession], names: Sequence[tuple[str, str, str, str]]) -> SessionTable:
        keys = list(dict.fromkeys(benchmark.key for row in recorded for benchmark in row.measured))
        columns = {key: column for column, key in enumerate(keys)}
        y, errors = np.full((len(recorded), len(keys)), math.nan), np.zeros((len(recorded), len(keys)))
        higher = [False] * len(keys)
        for i, row in enumerate(recorded):
            for benchmark in row.measured:
                if benchmark.runs and benchmark.value > 0:
                    column = columns[benchmark.key]
                    higher[column] = benchmark.higher_is_better
                    y[i, column] = math.log(benchmark.value)
                    half = (benchmark.high - benchmark.low) / (2 * NORMAL * benchmark.value)
                    errors[i, column] = half if math.isfinite(half) else math.nan
        # A session with too few runs for an interval counts as the worst of those that have one.
        worst = np.max(np.nan_to_num(errors), axis=0, initial=0.0)
        errors = np.where(np.isnan(errors), worst, errors)
        commits: dict[str, int] = {}
        marks = np.array([commits.setdefault(row.session.commit, len(commits)) for row in recorded], np.float64)
        machine = tuple(names.index(row.machine) for row in recorded)
        return cls(tuple(keys), y, errors, marks, machine, len(names), tuple(higher))

    def bridge(self, first: int, second: int) -> tuple[Ints, Ints]:
        """Return the rows of two machines at commits that were measured on both."""
        of_first = np.array([machine == first for machine in self.machine])
        of_second = np.array([machine == second for machine in self.machine])
        shared = np.intersect1d(self.marks[of_first], self.marks[of_second])
        at_shared = np.isin(self.marks, shared)
        return np.flatnonzero(of_first & at_shared)[:MOST_BRIDGE], np.flatnonzero(of_second & at_shared)[:MOST_BRIDGE]

    def joined(self, rows: Ints, chain: Sequence[int]) -> tuple[Floats, Floats]:
        """Return values and errors of the rows of a chain of machines, adjusted to the level of the first machine."""
        y, errors = self.y.copy(), self.errors.copy()
        for place, machine in enumerate(chain[1:], start=1):
            of_machine = np.array([number == machine for number in self.machine])
            before = max(chain[:place], key=lambda other: min(map(len, self.bridge(other, machine))))
            left, right = self.bridge(before, machine)
            offset, error = _offset(y[left], self.y[right])
            y[of_machine] = self.y[of_machine] - offset
            # A look at a step across the join uses at most SIDE sessions after it; the mean of their errors then has
            # the error of the join.
            around = np.flatnonzero(of_machine)[: 2 * SIDE]
            errors[around] = np.sqrt(errors[around] ** 2 + SIDE * error**2)
        return y[rows], errors[rows]


def _offset(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return the second machine's difference by benchmark, and its standard error; NaN where either has no value."""
    counts = [np.isfinite(side).sum(axis=0) for side in (left, right)]
    sums = [np.nansum(side, axis=0) for side in (left, right)]
    measured = (counts[0] >= BRIDGE) & (counts[1] >= BRIDGE)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = [total / count for total, count in zip(sums, counts, strict=True)]
        squares = [
            np.nansum((side - mean) ** 2, axis=0) / np.maximum(count - 1, 1) / np.maximum(count, 1)
            for side, mean, count in zip((left, right), means, counts, strict=True)
        ]
    offset = np.where(measured, means[1] - means[0], math.nan)
    return offset, np.where(measured, np.sqrt(squares[0] + squares[1]), 0.0)


def chains_of(table: SessionTable) -> tuple[list[int], list[int]]:
    """Return the number of the chain of each machine, machines in the order of their first sessions, and the number of
    sessions that join it to an earlier machine."""
    chains: list[int] = []
    bridges: list[int] = []
    of_session = np.array(table.machine)
    commits = [set(table.marks[of_session == machine].tolist()) for machine in range(table.machines)]

    def size(other: int, machine: int) -> int:
        """Return the number of sessions that join two machines; most have no commit in common."""
        return 0 if commits[other].isdisjoint(commits[machine]) else min(map(len, table.bridge(other, machine)))

    for machine in range(table.machines):
        sizes = [size(other, machine) for other in range(machine)]
        best = max(range(machine), key=sizes.__getitem__, default=None)
        joined = best is not None and sizes[best] >= BRIDGE
        chains.append(chains[best] if joined and best is not None else max(chains, default=-1) + 1)
        bridges.append(sizes[best] if joined and best is not None else 0)
    return chains, bridges
