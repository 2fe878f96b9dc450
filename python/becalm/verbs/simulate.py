"""`becalm simulate`: a workload under a simulated scheduler, without changing a machine.

The hosts `sim:cfs` and `sim:eevdf` are the same for `run`, `compare` and `tune`; `simulate` shows in detail what a
scheduler does: waits, switches, migrations, fairness, and who ran where.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from becalm import hosts
from becalm.errors import UsageError
from becalm.files.written import target, write
from becalm.hosts.simulated.scheduler.engine import Progress
from becalm.hosts.simulated.scheduler.host import SchedulerHost
from becalm.hosts.simulated.scheduler.programs import unmodelled
from becalm.nouns.domain import Value
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.simulate import SimulatedRun, Simulation, Turns
from becalm.study import interrupts
from becalm.units import duration_ns
from becalm.wording.simulate import sentence

MOST_SPANS = 200_000
"""The largest number of spans in a trace: viewers of traces still open it in seconds (some 20 MB)."""

MOST_SEEDS = 10_000


def simulate(
    command: str | Sequence[str],
    *,
    host: str = "sim:eevdf",
    settings: Mapping[str, Value] | None = None,
    seeds: int = 1,
    until: float | str | None = None,
    trace: str | Path | None = None,
    timeline: bool = False,
    progress: Progress | None = None,
) -> Simulation:
    """Simulate a workload: `hackbench -g 20 -l 1000`, `spin 20ms`, or a file of state machines.

    Arguments:
        command: command line or argument list (docs/how-to/simulate.md).
        host: sim:cfs or sim:eevdf, with options: sim:eevdf?cpus=4&hz=1000&jitter=0.02.
        settings: the kernel's settings, of the scheduler or of all tasks: {"sched_base_slice_ns": 3000000, "nice": 5}.
        seeds: the number of simulations with different seeds; without jitter they are all equal.
        until: the simulated time at which to stop, seconds or text ("10s").
        trace: a file for the turns of each CPU in the first simulation, for ui.perfetto.dev or chrome://tracing.
        timeline: keep the turns of each CPU in the first simulation, for pictures of a report.
        progress: called with the simulated time, ns, and the share of tasks that have ended.

    Ctrl-C ends the simulation: its part until then is in the last run, which is not `finished`.
    Raises UsageError for a program that cannot be simulated (or whose tasks wait for each other), MachineError.
    """
    if not 1 <= seeds <= MOST_SEEDS:
        raise UsageError(f"--seeds is a number from 1 to {MOST_SEEDS}, not {seeds}.")
    argv = tuple(shlex.split(command) if isinstance(command, str) else command)
    chosen = Settings.of(dict(settings or {}))
    until_ns = None if until is None else duration_ns(until)
    if trace is not None and not Path(trace).parent.is_dir():
        raise _unwritten(trace, os.strerror(errno.ENOENT))
    if trace is not None:
        target(trace)
    runs: list[SimulatedRun] = []
    drawn = None
    with scheduler(host) as opened, interrupts.handle_signals(), interrupts.stop_at_signal(opened.stop):
        opened.until = until_ns is not None
        opened.define([Workload.of(list(argv))], [chosen])

        def told(now_ns: int, ended: float) -> None:
            # A signal between two simulations, or before the first, stopped nothing.
            if interrupts.interrupted():
                opened.stop()
            if progress is not None:
                progress(now_ns, ended)

        for seed in range(seeds):
            if interrupts.interrupted() and runs:
                break
            more: dict[str, Any] = {} if until_ns is None else {"until_ns": until_ns}
            first = seed == 0 and (timeline or trace is not None)
            if first:
                more |= {"spans": MOST_SPANS, "per_task": True, "buckets": True}
            summary = opened.simulated(seed, more, told)
            runs.append(SimulatedRun.of(seed, summary))
            if first:
                drawn = Turns.of(summary)
                if trace is not None:
                    _write(Path(trace), drawn, runs[-1].cpus)
            if not runs[-1].finished:
                break
    simulation = Simulation(host, shlex.join(argv), chosen, tuple(runs), until_ns, drawn, unmodelled=unmodelled(argv))
    return replace(simulation, sentence=sentence(simulation))


def scheduler(name: str) -> SchedulerHost:
    """Return the simulated scheduler of a name. Raises UsageError for another host."""
    host = hosts.open(name) if name.startswith("sim:") else None
    if not isinstance(host, SchedulerHost):
        raise UsageError(f"{name!r} is not a simulated scheduler. There are sim:cfs and sim:eevdf, as sim:cfs?cpus=4.")
    return host


def _write(path: Path, drawn: Turns, cpus: int) -> None:
    """Write a trace in the JSON that Perfetto and Chrome read: a row for each CPU, a slice for each turn of a task."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": cpu, "args": {"name": f"CPU {cpu}"}} for cpu in range(cpus)
    ]
    events += [
        {"ph": "X", "name": drawn.names[task], "pid": 1, "tid": cpu, "ts": start / 1000, "dur": (end - start) / 1000}
        for cpu, task, start, end in drawn.spans
    ]
    more = {"dropped": drawn.dropped}
    try:
        write(path, json.dumps({"traceEvents": events, "displayTimeUnit": "ns", "otherData": more}))
    except OSError as error:
        raise _unwritten(path, str(error.strerror)) from None


def _unwritten(path: str | Path, why: str) -> UsageError:
    return UsageError(f"The trace cannot be written to {path}: {why}.")
