"""`becalm load`: a known load on processors, memory, a disk, the loopback network or the kernel."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from msgspec.structs import replace

from becalm import hosts, system_clock
from becalm.errors import MachineError, UsageError
from becalm.hosts import Access, Host, LoadMade, MeasureRequest, Runs, RunText, Written
from becalm.hosts.load_generator import Loading
from becalm.hosts.loaded import LoadedHost
from becalm.nouns.demand import Demand, LoadResult
from becalm.nouns.run import Block, Outcome, Run, Step
from becalm.nouns.settings import Settings
from becalm.nouns.signature import takes
from becalm.nouns.workload import Output, Workload
from becalm.report.program_output import OutputListener
from becalm.results.progress import ProgressListener
from becalm.units import duration_ns

if TYPE_CHECKING:
    from becalm.verbs.keywords import MakeLoadKeywords


@takes(Demand)
def make_load(
    *,
    duration: float | str | None = None,
    command: Sequence[str] = (),
    host: str | Host = "local",
    sudo: bool = False,
    listener: ProgressListener | None = None,
    **keywords: Unpack[MakeLoadKeywords],
) -> LoadResult:
    """Make load for a time, or while a command runs; return what it really did.

    Arguments:
        duration: seconds or text ("10s"), from the start of the load, including its build-up; until Ctrl-C when
            neither it nor a command is given.
        command: argument list; it starts when all load is up, and the load ends with it.
        host: where, a name or an open host; the command runs there, too.
        sudo: change settings as root; the control group of a memory load requires becalm to be root.
        listener: receives the output of a command on another host; None: it is passed on to becalm's own output.

    Raises UsageError, and MachineError where the machine cannot: no swap, no limit, no right, no such disk.
    """
    demand = Demand.of(**keywords)
    if duration is not None and command:
        raise UsageError("A load lasts for a time (--for) or as long as a command runs, not both. Leave one out.")
    if demand.memory_bytes is not None and demand.limit_bytes is None:
        raise UsageError(
            "Memory load needs a limit, so that the machine survives it: --limit 256M keeps it in a control group that "
            "has no more than that in memory; what is above goes to swap."
        )
    if demand.limit_bytes is not None and demand.memory_bytes is None:
        raise UsageError("--limit belongs to memory load: --memory 512M --limit 256M.")
    if demand.disk_rate is not None and demand.disk_directory is None:
        raise UsageError("--rate needs a directory on the disk to write to: --disk DIR --rate 50M.")
    if host != "local" or sudo:
        return _elsewhere(host, sudo, demand, None if duration is None else duration_ns(duration), command, listener)
    with Loading(demand, None if duration is None else duration_ns(duration), command) as loading:
        return loading.wait()


def _elsewhere(
    host: str | Host,
    sudo: bool,
    demand: Demand,
    time_ns: int | None,
    command: Sequence[str],
    listener: ProgressListener | None,
) -> LoadResult:
    """Make the load through the agent of a host."""
    if demand.empty:
        raise UsageError("No load was requested. Name a load, for example two processors: cpu 2.")
    with hosts.open(host, Access(sudo=sudo, title="becalm load")) as machine:
        if command:
            return _alongside(machine, demand, command, listener or OutputListener())
        asked_ns = system_clock.monotonic_ns()
        with machine.loading(demand) as load:
            left_ns = None if time_ns is None else time_ns - (system_clock.monotonic_ns() - asked_ns)
            if left_ns is not None and left_ns <= 0:
                raise MachineError(
                    "The time was over before all of the load was up. Allow a longer time, or ask for less load."
                )
            with contextlib.suppress(KeyboardInterrupt):
                threading.Event().wait(None if left_ns is None else left_ns / 1e9)
                return replace(load.end(), reason="time")
            return load.end()


def _alongside(machine: Host, demand: Demand, command: Sequence[str], listener: ProgressListener) -> LoadResult:
    """Make load while a command runs on a host; return what it did, and how the command ended."""
    loaded = LoadedHost(machine)
    loaded.define([Workload.of(list(command), output=Output.INHERIT, expect=None)], [Settings()])
    run: Run | None = None
    load_made: LoadResult | None = None
    messages: list[str] = []
    block = Block((Step(0, 0, 0, 0),), alongside=demand)
    for event in loaded.measure(MeasureRequest(0, block, stop_on_failure=False)):
        match event:
            case Runs(rows):
                run = rows[-1]
            case RunText(_, stderr):
                messages.append(stderr)
            case Written(stream, text):
                listener.wrote(stream, text)
            case LoadMade(result):
                load_made = result
    if run is None or load_made is None or run.outcome == Outcome.REFUSED:
        raise MachineError(f"The command was not run. {''.join(messages)}".strip())
    return replace(load_made, reason="command", status=run.status, command_ns=run.wall_ns)
