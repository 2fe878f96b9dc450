"""The noun Times: where the time of a program went, per run, as far as the kernel counts it.

`of` joins runs with the Load that covers them: CPU time comes from the runs (rusage: the first process and every
descendant that was waited for); waits come from the Load where it has them, else from the runs. A Load may cover
several short runs; everything here is their mean. None is unknown, never zero.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from becalm.load.record import Load
from becalm.nouns.run import Run
from becalm.nouns.tables import load_columns

OTHERS_CPU = 1.02
"""The ratio of all CPU time (rusage) to the leader's (scheduler) above which other threads or processes took part."""

COUNTED = 0.99
"""The share of a run's time that must have been counted for the counts to represent the whole run."""

NAMES = ("runs", "scope", "level", "counters_scope")
"""Fields of Times that are neither times nor counts."""


class Times(msgspec.Struct, frozen=True):
    """Mean times of one run in ns.

    - `cpu_ns`: user + system time
    - `exec_ns`, `wait_ns`: CPU time and time on the run queue, by the scheduler's clock, of `scope` (`Load.scope`)
    - `block_ns` to `irq_delay_ns`: Linux's delay accounting (Documentation/accounting/delay-accounting.rst), spans that
      enclose one another, never to be added
    - `steal_ns`, `busy_ns`: time that the hypervisor took from the whole machine, and that all programs ran, in one run
    - `cycles`, `instructions`: counted by the processor, with `counters_scope`: everything, or no work of the kernel
    - `tasks`: the number of threads and processes in the sums, None where unknown
    """

    runs: int
    wall_ns: float
    cpu_ns: float | None = None
    exec_ns: float | None = None
    wait_ns: float | None = None
    block_ns: float | None = None
    swapin_ns: float | None = None
    thrashing_ns: float | None = None
    reclaim_ns: float | None = None
    compact_ns: float | None = None
    copy_ns: float | None = None
    irq_delay_ns: float | None = None
    quota_ns: float | None = None
    own_cpu_pressure_ns: float | None = None
    own_io_pressure_ns: float | None = None
    own_memory_pressure_ns: float | None = None
    steal_ns: float | None = None
    busy_ns: float | None = None
    frequency_khz: float | None = None
    cycles: float | None = None
    instructions: float | None = None
    counters_enabled_ns: float | None = None
    counters_running_ns: float | None = None
    tasks: float | None = None
    scope: str = "leader"
    level: int = 0
    counters_scope: str | None = None

    @property
    def on_cpu_ns(self) -> float | None:
        """CPU time of all that took part: the sum of the larger scope where two are known.

        For a single task the scheduler's clock covers everything, from the same moment as its wall time.
        """
        if self.exec_ns is not None and self.tasks == 1 and self.scope != "leader":
            return self.exec_ns
        known = [cpu_ns for cpu_ns in (self.cpu_ns, self.exec_ns) if cpu_ns is not None]
        return max(known, default=None)

    @property
    def counted(self) -> bool:
        """Whether the processor counted nearly all of the time: the uncounted part of a run may have been different."""
        enabled, running = self.counters_enabled_ns, self.counters_running_ns
        if not (self.cycles and self.instructions and enabled and running):
            return False
        return running >= COUNTED * enabled

    @property
    def several(self) -> bool:
        """Whether more than one thread or process took part, so that sums over them need not add up to wall time."""
        if self.tasks is not None and self.scope != "leader":
            return self.tasks > 1
        return self.cpu_ns is not None and self.exec_ns is not None and self.cpu_ns > OTHERS_CPU * self.exec_ns + 1e6

    @property
    def width(self) -> float:
        """Tasks at work at the same time: task-seconds over wall time, at least one; 1 for a single thread."""
        if not self.several:
            return 1.0
        spent = (self.on_cpu_ns or 0.0) + (self.wait_ns or 0.0) + (self.block_ns or 0.0)
        return max(1.0, spent / self.wall_ns)

    @property
    def ready(self) -> float:
        """The mean number of its own tasks on a CPU or ready for one, at least 1: its contribution to a run queue."""
        if not self.several:
            return 1.0
        return max(1.0, ((self.on_cpu_ns or 0.0) + (self.wait_ns or 0.0)) / self.wall_ns)

    def alone_ns(self, cpus: float | None) -> float | None:
        """Return the wall time of its own work on `cpus` that nobody else uses, ns; None where its CPU time is unknown.

        For one thread it is the CPU time. Several tasks work side by side, as many as in this run; if they are more
        than the CPUs, their waits for each other are part of this time and not a delay.
        """
        own, width = self.on_cpu_ns, self.width
        if own is None or width == 1.0:
            return own
        alongside = own / width
        if not cpus or cpus >= width:
            return alongside
        return alongside + min((self.wait_ns or 0.0) / width, own / cpus - alongside)


_SUMS = {column.name for column in load_columns() if column.subject == "programs" and column.kind == "difference"}

OWN = tuple(name for name in Times.__struct_fields__ if name in _SUMS)
"""Columns of a Load that are sums over its runs."""


def shortage_ns(load: Load) -> int | None:
    """Return the time in which tasks waited for swapped pages or freed memory; None where it was not counted.

    Waits for swapped pages and thrashing may enclose each other (mm/page_io.c): the longer one counts, a lower bound.
    The others are separate.
    """
    parts = (load.swapin_ns, load.thrashing_ns, load.reclaim_ns, load.compact_ns)
    if all(part is None for part in parts):
        return None
    swapin, thrashing, *freeing = (part or 0 for part in parts)
    return max(swapin, thrashing) + sum(freeing)


def of(runs: Sequence[Run], load: Load | None = None, *, whole: bool = True) -> Times:
    """Return the times of some runs of one program that `load` covers. Raises ValueError without a run.

    `whole` False: the load covers other runs, too, so its sums belong to none of them; only the figures of each run are
    known.
    """
    if not runs:
        raise ValueError("Times need at least one run.")
    count = len(runs)
    cpu = _mean([None if r.user_ns is None or r.system_ns is None else r.user_ns + r.system_ns for r in runs])
    values: dict[str, Any] = {"wait_ns": _mean([run.wait_ns for run in runs])}
    wall = math.fsum(run.took_ns for run in runs) / count
    scope, level = "leader", 0 if values["wait_ns"] is None else 1
    if load is not None:
        level = load.level
        # The machine's counts are spread over the interval: a run has a share in proportion to its time.
        per_run = wall / load.interval_ns if load.interval_ns else 0.0
        steal, busy = load.steal_ns, load.busy_ns
        if load.confined:
            # Time stolen on other CPUs was not stolen from the program.
            steal, busy = load.own_cpus_steal_ns, load.own_cpus_busy_ns
        values["steal_ns"] = None if steal is None else steal * per_run
        values["busy_ns"] = None if busy is None else busy * per_run
        values["frequency_khz"] = load.frequency_khz
        if whole:
            sums = {name: getattr(load, name) for name in OWN}
            values |= {name: value / count for name, value in sums.items() if value is not None}
            scope = load.scope if load.wait_ns is not None else "leader"
            values["counters_scope"] = load.counters_scope
    return Times(runs=count, wall_ns=wall, cpu_ns=cpu, scope=scope, level=level, **values)


def middle(all_times: Iterable[Times]) -> Times | None:
    """Return the median of several times, field by field, as the times of an unloaded run. None for no times.

    A field is unknown where any of them lacks it; scope and level are the smallest of all.
    """
    every = list(all_times)
    if not every:
        return None
    values: dict[str, Any] = {
        name: _over([getattr(times, name) for times in every], statistics.median)
        for name in Times.__struct_fields__
        if name not in NAMES
    }
    return Times(runs=sum(times.runs for times in every), **shared(every), **values)


def shared(all_times: Sequence[Times]) -> dict[str, Any]:
    """Return the scope and level that hold for all of several times: the smallest of all."""
    least = min(all_times, key=lambda times: times.level)
    scopes = {times.counters_scope for times in all_times}
    return {
        "scope": least.scope,
        "level": least.level,
        "counters_scope": scopes.pop() if len(scopes) == 1 else None,
    }


def _mean(values: Sequence[float | None]) -> float | None:
    return _over(values, statistics.fmean)


def _over(values: Sequence[float | None], fold: Callable[[list[float]], float]) -> float | None:
    known = [value for value in values if value is not None]
    return fold(known) if known and len(known) == len(values) else None
