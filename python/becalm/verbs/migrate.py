"""`becalm migrate`: a running process to another CPU, all threads of it, undone as any setting is."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from becalm import hosts
from becalm.errors import RefusedError, UsageError
from becalm.hosts import Ability, Access, Host
from becalm.hosts.held import PutOn
from becalm.migration.migrated import Migrated, Waited
from becalm.nouns.settings import Settings
from becalm.study import moving_target, running_tasks
from becalm.study.running_tasks import Process
from becalm.units import cpu_list, duration_ns
from becalm.wording import migrating as wording
from becalm.wording.placing import until_end, until_reset

KNOB = "process_cpus"
LOAD_S = 0.2
"""For so long the load of CPUs is looked at: 20 ticks of the kernel's accounting at the least frequency, 100 Hz."""

LOOK_S = 0.2
"""How often it is looked whether the process is still there."""

Say = Callable[[str], None]


def migrate(
    pid: int,
    cpu: int | str | Sequence[int] = "least-loaded",
    *,
    llc: str | None = None,
    keep: bool = False,
    duration: float | str | None = None,
    host: str | Host = "local",
    sudo: bool = False,
    root: str | Path = "/",
    say: Say | None = None,
) -> Migrated:
    """Move a running process: every thread of it is bound to other CPUs, within those that it may use.

    Arguments:
        pid: the process.
        cpu: where to: a number, a list ("2-3"), or "least-loaded", the one that works least of those that it may use.
        llc: only to CPUs of the "same" or another ("other") last-level cache than the one where it runs.
        keep: it stays there until `reset`. Otherwise it has its CPUs back at the end of this call.
        duration: that is after so long, seconds or text ("10min"); None: when it ends, or at Ctrl-C.
        host: whose agent binds it; the process is looked for on this machine.
        sudo: start the agent as root, which binding processes needs.
        root: a directory that looks like `/`, to look for the process in.
        say: told what was moved when it is so for a time.

    Raises UsageError, RefusedError (no such process, CPUs that are offline or that it may not use, a thread of the
    kernel), MachineError. Nothing is left bound then.
    """
    seconds = None if duration is None else duration_ns(duration) / 1e9
    if keep and seconds is not None:
        raise UsageError("A process that is kept there has no time at which it comes back: leave one of both out.")
    if llc is not None and llc not in moving_target.LLC:
        raise UsageError(wording.other_llc(llc, moving_target.LLC))
    process, name = _looked(pid, root)
    with hosts.open(host, Access(sudo=sudo, title="becalm migrate")) as machine:
        hosts.need(machine.name, machine.abilities(), Ability.KEEP if keep else Ability.HOLD)
        cpus = chosen(process, cpu, llc, root)
        settings = Settings.of({KNOB: running_tasks.setting({process: cpus})})
        done = described(process, name, cpus, None, root)
        if keep:
            on = machine.keep(settings)
            return _said(done, on, (until_reset(),))
        with machine.hold(settings) as on, contextlib.suppress(KeyboardInterrupt):
            if say is not None:
                say(f"{_said(done, on).sentence} {until_end(seconds)}")
            _until(process, seconds, root)
        last = wording.undone(pid) if running_tasks.look(pid, root) == process else wording.gone(pid)
        return _said(done, on, (last,))


def chosen(process: Process, cpu: int | str | Sequence[int], llc: str | None, root: str | Path) -> tuple[int, ...]:
    """The CPUs that it is moved to. Raises UsageError and RefusedError."""
    if cpu == "least-loaded":
        found = moving_target.candidates(process, llc, root)
        before = moving_target.busy(root)
        if len(found) > 1:
            time.sleep(LOAD_S)
        return (moving_target.least_loaded(found, before, moving_target.busy(root)),)
    cpus = cpu_list((cpu,) if isinstance(cpu, int) else cpu)
    return moving_target.asked(process, cpus, llc, root)


def described(process: Process, name: str, cpus: tuple[int, ...], waited: Waited | None, root: str | Path) -> Migrated:
    """What is about to be moved, as it is now."""
    threads = len(moving_target.threads_of(process.pid, root))
    came = moving_target.runs_on(process.pid, root)
    return Migrated(process.pid, name, came, cpus, threads, 0, waited)


def _said(done: Migrated, on: PutOn, more: tuple[str, ...] = ()) -> Migrated:
    told = replace(done, took_ns=on.took_ns, remarks=(*on.remarks, *more))
    return replace(told, sentence=wording.sentence(told))


def _looked(pid: int, root: str | Path) -> tuple[Process, str]:
    name = running_tasks.name_of(pid, root)
    if moving_target.is_kernel_thread(pid, root):
        raise RefusedError(wording.of_kernel(pid, name))
    process = running_tasks.look(pid, root)
    if process is None:
        raise UsageError(wording.no_process(pid))
    return process, name


def _until(process: Process, seconds: float | None, root: str | Path) -> None:
    """Until the time is over, or the process."""
    end = None if seconds is None else time.monotonic() + seconds
    while end is None or time.monotonic() < end:
        now = running_tasks.look(process.pid, root)
        if now is None or now.start != process.start:
            return
        time.sleep(LOOK_S if end is None else max(0.0, min(LOOK_S, end - time.monotonic())))
