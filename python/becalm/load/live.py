"""The values of a watch: one interval of the machine (Instant), and one of a followed process (Followed).

Values only; `becalm.verbs.watch` makes them from the agent's readings, `becalm.report.watch` shows them.

Public: Consumer, ProcessCounts, Reading, Followed, Instant, account, reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from becalm.load.record import TICK_NS, Load, load_of
from becalm.nouns.codec import Json
from becalm.nouns.result import Documented
from becalm.nouns.tables import load_columns

MACHINE = tuple(column.name for column in load_columns() if column.subject != "programs")
"""Columns of a Load that describe the interval and the machine, not programs."""


class Consumer(msgspec.Struct, frozen=True):
    """A process that used much CPU time in an interval. `cpu_ns`: CPU time in whole ticks; `cpus`: the mean number of
    CPUs that this is, if the process has an interval of its own."""

    pid: int
    name: str
    cpu_ns: int
    cpus: float | None = None


class ProcessCounts(msgspec.Struct, frozen=True):
    """The counts of a process since it began, all threads; None is unknown (docs/reference/protocol.md, `follow`)."""

    name: str = ""
    state: str = ""
    started: int = 0
    threads: int = 0
    ended: int = 0
    run_ns: int | None = None
    wait_ns: int | None = None
    slices: int | None = None
    block_ns: int | None = None
    voluntary: int | None = None
    involuntary: int | None = None
    user_ns: int | None = None
    system_ns: int | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    resident_bytes: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    read_calls: int | None = None
    write_calls: int | None = None
    read_characters: int | None = None
    written_characters: int | None = None
    swapin_ns: int | None = None
    reclaim_ns: int | None = None
    thrashing_ns: int | None = None
    compact_ns: int | None = None
    copy_ns: int | None = None
    complete: bool = False
    """Whether the sums include every thread that ever existed, not only those that were seen."""
    missing: tuple[str, ...] = ()


_FIELDS = set(ProcessCounts.__struct_fields__)


def account(value: Mapping[str, Any]) -> ProcessCounts:
    """Return the Account that the agent sent; fields that a newer agent adds are left out."""
    known = {name: count for name, count in value.items() if name in _FIELDS}
    return ProcessCounts(**{**known, "missing": tuple(value.get("missing", ()))})


class Reading(msgspec.Struct, frozen=True):
    """A reading of the machine. `load`: since the previous reading, None for the first; `unknown`: why columns of the
    load are unknown; `absent`: sources that the machine lacks, with reasons."""

    load: Load | None
    unknown: Mapping[str, str] = msgspec.field(default_factory=dict)
    absent: Mapping[str, str] = msgspec.field(default_factory=dict)
    consumers: tuple[Consumer, ...] = ()


def reading(columns: Sequence[str], value: Mapping[str, Any]) -> Reading:
    """Return the Reading that the agent sent, whose loads have these columns."""
    row = value.get("load")
    # The agent does not look at processes where that would cost too much.
    usage = value.get("consumers") or {"used": (), "interval_ns": 1}
    over_ns = usage["interval_ns"]
    return Reading(
        None if row is None else load_of(columns, row),
        dict(value.get("unknown", {})),
        dict(value.get("absent", {})),
        tuple(
            Consumer(consumer["pid"], consumer["name"], consumer["cpu_ns"], consumer["cpu_ns"] / over_ns)
            for consumer in usage["used"]
        ),
    )


class Followed(msgspec.Struct, frozen=True):
    """A process over an interval: its account at the beginning and at the end.

    `ended`: whether it has ended. `whole`: whether `after` includes everything up to its end, which is known until its
    parent has waited for it.
    """

    pid: int
    before: ProcessCounts
    after: ProcessCounts
    interval_ns: int
    ended: bool = False
    whole: bool = True

    def moved(self, name: str) -> int | None:
        """Return the change of a sum, never negative; None when the sum is unknown at either end."""
        before, after = getattr(self.before, name), getattr(self.after, name)
        return None if before is None or after is None else max(0, after - before)

    @property
    def cpu_ns(self) -> int | None:
        """CPU time of the whole process, including threads that came and went, in whole ticks."""
        user, system = self.moved("user_ns"), self.moved("system_ns")
        return None if user is None or system is None else user + system

    @property
    def running(self) -> float | None:
        """CPUs in use on average: by the scheduler's clock, or by ticks where threads were missed."""
        run = self.moved("run_ns") if self.exact else self.cpu_ns
        return None if run is None or self.interval_ns <= 0 else run / self.interval_ns

    @property
    def switches(self) -> float | None:
        """Context switches per second."""
        own, forced = self.moved("voluntary"), self.moved("involuntary")
        return (
            None if own is None or forced is None or self.interval_ns <= 0 else 1e9 * (own + forced) / self.interval_ns
        )

    @property
    def exact(self) -> bool:
        """Whether the sums over threads include all of them: they agree with the CPU time of the process.

        Two ticks and a fiftieth are tolerated: a tick is charged to whatever task is running when it comes.
        """
        if self.before.complete and self.after.complete:
            return True
        run, cpu = self.moved("run_ns"), self.cpu_ns
        return run is not None and cpu is not None and cpu - run <= 2 * TICK_NS + cpu // 50

    @property
    def delay(self) -> float | None:
        """The delay factor 1 + run-queue wait / CPU time; None where either is unknown or nothing ran."""
        run, wait = self.moved("run_ns"), self.moved("wait_ns")
        return None if run is None or wait is None or not run else 1 + wait / run


class Instant(Documented, frozen=True):
    """An interval that was watched.

    - `at_ns`: Unix time of its end
    - `load`: None for the first reading, which ends no interval
    - `absent`: sources that the machine lacks, with reasons
    - `skipped`: intervals left out so far because reading or showing took too long
    - `cost_ns`: CPU time of the agent for all readings so far
    """

    KIND = "instant"

    number: int
    at_ns: int
    load: Load | None
    consumers: tuple[Consumer, ...] = ()
    process: Followed | None = None
    absent: Mapping[str, str] = msgspec.field(default_factory=dict)
    skipped: int = 0
    cost_ns: int = 0

    def to_json(self) -> dict[str, Json]:
        """Return the JSON form, with `load` by the columns of the machine."""
        load = None if self.load is None else {name: getattr(self.load, name) for name in MACHINE}
        return {**super().to_json(), "load": load}
