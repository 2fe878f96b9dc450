"""The result Simulation: the behaviour of a workload under a simulated scheduler, for one or several seeds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.nouns.result import Result
from becalm.nouns.settings import Settings

NOT_MODELLED = "locks, caches, interrupts, control groups, NUMA and frequency"
"""The parts of a machine that the model leaves out (crates/becalm-sim/src/lib.rs)."""


class Latency(msgspec.Struct, frozen=True):
    """A distribution of times, ns. `buckets`: pairs of an upper limit and the number of times between the previous
    limit and this one."""

    OMITTED = ("buckets",)

    count: int
    mean_ns: float
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p999_ns: int
    largest_ns: int
    buckets: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> Latency:
        """Return the value for the engine's summary."""
        return cls(**{**summary, "buckets": tuple((upper, count) for upper, count in summary.get("buckets", ()))})

    @property
    def survival(self) -> tuple[tuple[int, float], ...]:
        """The share of times that are longer than each: all at 0, none at the largest."""
        left, curve = self.count, [(0, 1.0)]
        for upper, count in self.buckets:
            left -= count
            curve.append((upper, left / self.count))
        return tuple(curve) if self.buckets else ()


class SimulatedRun(msgspec.Struct, frozen=True):
    """A simulation. Times in ns; run, overhead and idle together are `cpus` times `end_ns`.

    - `finished`: whether all tasks ended by themselves
    - `fairness`: Jain's index of CPU time over weight, 1 is fair
    - `wait`: the time from being ready to run to running
    - `message_latency`: the time from the sending to the reading of a message
    """

    seed: int
    end_ns: int
    finished: bool
    tasks: int
    tasks_ended: int
    cpus: int
    events: int
    run_ns: int
    overhead_ns: int
    idle_ns: int
    switches: int
    preemptions: int
    wakeups: int
    migrations: int
    messages: int
    wait: Latency
    message_latency: Latency
    fairness: float

    @classmethod
    def of(cls, seed: int, summary: Mapping[str, Any]) -> SimulatedRun:
        """Return the value for the engine's summary (crates/becalm-sim/src/summary.rs)."""
        plain = {name: summary[name] for name in cls.__struct_fields__ if name in summary}
        spread = {name: Latency.of(summary[name]) for name in ("wait", "message_latency")}
        return cls(seed=seed, **{**plain, **spread})


class Turns(msgspec.Struct, frozen=True):
    """The turns of the first simulation: CPU, task, start and end (ns) of each, in order of their ends.

    `names`: the names of the tasks. `dropped`: the number of turns left out above the limit of stored ones.
    """

    names: tuple[str, ...]
    spans: tuple[tuple[int, int, int, int], ...]
    dropped: int

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> Turns:
        """Return the value for the engine's summary."""
        spans = tuple((span["cpu"], span["task"], span["from_ns"], span["to_ns"]) for span in summary.get("spans", ()))
        names = tuple(str(task["name"]) for task in summary.get("per_task", ()))
        return cls(names, spans, summary["spans_dropped"])


class Simulation(Result, frozen=True):
    """A simulation: host, program, settings, and each run.

    `until_ns`: the requested end, if it is not the end of the last task. `timeline`: the turns, if a picture or a trace
    was requested. `sentence`: the result in words.
    """

    KIND = "simulate"
    DERIVED = ("not_modelled",)
    OMITTED = ("until_ns", "timeline", "unmodelled")

    host: str
    program: str
    settings: Settings
    runs: tuple[SimulatedRun, ...]
    until_ns: int | None = None
    timeline: Turns | None = None
    sentence: str = ""
    unmodelled: tuple[str, ...] = ()
    """The options of the command line that have no effect in the model."""

    @property
    def not_modelled(self) -> str:
        """The options and effects that the model leaves out."""
        return "; ".join([*self.unmodelled, NOT_MODELLED])

    @property
    def exit_code(self) -> int:
        """The exit code: 0, or 130 when it was stopped before the requested end."""
        reached = (run.finished or run.end_ns == self.until_ns for run in self.runs)
        return 0 if all(reached) else 130

    @property
    def end_ns(self) -> float:
        """Mean turnaround over the runs, ns."""
        return statistics.fmean(run.end_ns for run in self.runs)

    @property
    def spread(self) -> float | None:
        """Coefficient of variation of the turnaround; None for one run."""
        ends = [run.end_ns for run in self.runs]
        return statistics.stdev(ends) / statistics.fmean(ends) if len(ends) > 1 else None

    def typical(self, name: str) -> float:
        """Return the mean over the runs of a numeric field."""
        return statistics.fmean(getattr(run, name) for run in self.runs)
