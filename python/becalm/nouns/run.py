"""The noun Run, a measured execution, and the steps of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from becalm.nouns.demand import Demand


class Outcome(StrEnum):
    """The way in which a run ended. Only the time of an OK run is a value; the others are censored."""

    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    ABORTED = "aborted"
    REFUSED = "refused"


class Step(NamedTuple):
    """An execution in a plan. `round` < 0 marks a warm-up; `padding`: bytes added to the environment."""

    workload: int
    settings: int
    padding: int
    round: int


Steps = tuple[Step, ...]


class Start(NamedTuple):
    """The CPU that a step runs on, and whether it starts together with the next step of its block."""

    cpu: int
    with_next: bool = False


class Block(msgspec.Struct, frozen=True):
    """The steps that a plan passes to a host together; the host runs them without waiting for Python.

    `fresh_boot`: whether to boot first, even if the earlier steps had the same kernel parameters. `alongside`: load
    that is made meanwhile, by a host that is able to (`becalm.hosts.loaded`). `starts`: the start of each step; empty
    if the host chooses CPUs and runs one step after the other.
    """

    steps: Steps
    fresh_boot: bool = False
    alongside: Demand | None = None
    starts: tuple[Start, ...] = ()


class Run(NamedTuple):
    """A measured execution, never edited. Units are in the names; None is unknown, never zero.

    The fields are the engine's columns (docs/reference/columns.md), in their order, so that a row of the agent is a
    Run. The wall time is unknown only for runs that another tool has timed by the iteration; their time is a metric.
    `cpu` and `apart_ns` belong to a step with a Start: its CPU, and its start less that of the program that ran
    alongside.
    """

    seq: int
    workload: int
    settings: int
    round: int
    padding: int
    started_ns: int
    wall_ns: int | None
    user_ns: int | None
    system_ns: int | None
    wait_ns: int | None
    max_rss_bytes: int | None
    minor_faults: int | None
    major_faults: int | None
    voluntary: int | None
    involuntary: int | None
    outcome: str
    status: int | None
    left_behind: int
    metrics: tuple[float, ...] | None = None
    cpu: int | None = None
    apart_ns: int | None = None

    @property
    def took_ns(self) -> int:
        """The wall time of a run that becalm has measured. Raises ValueError for a run without one."""
        if self.wall_ns is None:
            raise ValueError(f"The wall time of run {self.seq} is not known.")
        return self.wall_ns

    @property
    def warmup(self) -> bool:
        """Whether the run is stored but not counted."""
        return self.round < 0

    @classmethod
    def of(cls, row: Sequence[Any]) -> Run:
        """Return the run of a row of the agent or the store, whose metrics are a list."""
        run = cls(*row)
        return run if run.metrics is None else run._replace(metrics=tuple(map(float, run.metrics)))


PILOT = -(2**31)
"""The `round` of a pilot run, made before a study is planned, to measure how long its program takes."""

COLUMNS = Run._fields
"""The names of a run's columns, in the order of the agent and the store."""


class Averages(msgspec.Struct, frozen=True):
    """Means over one program's counted good runs, in the units of the names; None when any of them is unknown."""

    user_ns: float | None = None
    system_ns: float | None = None
    wait_ns: float | None = None
    max_rss_bytes: int | None = None
