"""`becalm migrate`: a running process to another CPU, at once or when it costs least, undone as any setting is."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from becalm import hosts
from becalm.errors import RefusedError, UsageError
from becalm.hosts import Ability, Access, Host
from becalm.hosts.held import PutOn
from becalm.migration.migrated import Migrated, Waited
from becalm.migration.rules import WINDOW_NS, rules_named
from becalm.nouns.settings import Settings
from becalm.study import counted_stream, moving_target, running_tasks
from becalm.study.counted_stream import Counted
from becalm.study.running_tasks import Process
from becalm.study.waiting_move import Rules, wait
from becalm.units import cpu_list, duration_ns
from becalm.wording import migrating as wording
from becalm.wording.placing import until_end, until_reset

KNOB = "process_cpus"
TITLE = "becalm migrate"
LEAST_LOADED = "least-loaded"
LIMIT_NS = 100_000_000
"""The hard limit of waiting (the specification's, wait.rs)."""

WITHIN = {"counted": "references", "miss_ns": 12.9}
"""Within a last-level cache the private ones are lost: each reference of it then costs its 40 cycles, at 3.1 GHz."""

BETWEEN = {"counted": "hits", "miss_ns": 96.8}
"""To another one what hit in it is lost, too: each hit then is an access to memory, 300 cycles."""

LOAD_S = 0.2
"""For so long the load of CPUs is looked at: 20 ticks of the kernel's accounting at the least frequency, 100 Hz."""

LOOK_S = 0.2
"""How often it is looked whether the process is still there."""

Say = Callable[[str], None]


def migrate(
    pid: int,
    cpu: int | str | Sequence[int] = LEAST_LOADED,
    *,
    at_sweetspot: bool = False,
    rules: str | None = None,
    window: float | str | None = None,
    limit: float | str | None = None,
    events: str | None = None,
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
        at_sweetspot: wait for a moment at which that costs least: its working set changes (type 1), it is evicted while
            it waits (2), or it begins another program (0); for no longer than that can save, nor than the limit.
        rules: by which those are found: rise (ours), published, adaptive or cusum.
        window: T, so often is counted, seconds or text ("5ms").
        limit: it is moved after so long in any case, at most "100ms", which is the default.
        events: what is counted: "llc" (the last-level cache), "ws_turnover" (pages it newly uses), "faults" (type 0
            alone), or "auto", the first of these that the machine can.
        llc: only to CPUs of the "same" or another ("other") last-level cache than the one where it runs.
        keep: it stays there until `reset`. Otherwise it has its CPUs back at the end of this call.
        duration: that is after so long, seconds or text ("10min"); None: when it ends, or at Ctrl-C.
        host: whose agent binds it; the process is looked for on this machine.
        sudo: start the agent as root, which binding processes needs.
        root: a directory that looks like `/`, to look for the process in.
        say: told what was moved when it is so for a time.

    Raises UsageError, RefusedError (no such process, one that ends before it was moved, CPUs that are offline or that
    it may not use, a thread of the kernel), MachineError. Nothing is left bound then.
    """
    seconds = None if duration is None else duration_ns(duration) / 1e9
    if keep and seconds is not None:
        raise UsageError("A process that is kept there has no time at which it comes back: leave one of both out.")
    if llc is not None and llc not in moving_target.LLC:
        raise UsageError(wording.other_llc(llc, moving_target.LLC))
    for option, value in (("rules", rules), ("window", window), ("limit", limit), ("events", events)):
        if value is not None and not at_sweetspot:
            raise UsageError(wording.belongs(f"--{option}"))
    process, name = _looked(pid, root)
    with contextlib.ExitStack() as on_machine:
        machine = on_machine.enter_context(hosts.open(host, Access(sudo=sudo, title=TITLE)))
        hosts.need(machine.name, machine.abilities(), Ability.KEEP if keep else Ability.HOLD)
        cpus = chosen(process, cpu, llc, root)
        waited = None
        if at_sweetspot:
            before = moving_target.busy(root)
            asked = waiting(process, cpus, rules or "rise", window, limit, root)
            on_machine.enter_context(_prepared(machine, process, root))
            counter = on_machine.enter_context(hosts.open(host, Access(sudo=sudo, title=TITLE)))
            with counted_stream.begin(counter, process, events or "auto", asked.window_ns) as stream:
                waited = _waited(process, stream, asked)
            if cpu == LEAST_LOADED:
                # It may run elsewhere by now, and others may work more.
                found = moving_target.candidates(process, llc, root)
                cpus = (moving_target.least_loaded(found, before, moving_target.busy(root)),)
        settings = Settings.of({KNOB: running_tasks.setting({process: cpus})})
        done = described(process, name, cpus, waited, root)
        if keep:
            on = machine.keep(settings)
            return _said(done, on, (until_reset(),))
        with machine.hold(settings) as on, contextlib.suppress(KeyboardInterrupt):
            if say is not None:
                say(f"{_said(done, on).sentence} {until_end(seconds)}")
            _until(process, seconds, root)
        last = wording.undone(pid) if running_tasks.look(pid, root) == process else wording.gone(pid)
        return _said(done, on, (last,))


def waiting(
    process: Process,
    cpus: tuple[int, ...],
    rules: str,
    window: float | str | None,
    limit: float | str | None,
    root: str | Path,
) -> Rules:
    """By what the moment is decided: within a last-level cache its references count, to another one its hits."""
    window_ns = WINDOW_NS if window is None else duration_ns(window)
    limit_ns = LIMIT_NS if limit is None else duration_ns(limit)
    if not 0 < limit_ns <= LIMIT_NS:
        raise UsageError(wording.no_limit(limit_ns))
    runs = moving_target.runs_on(process.pid, root)
    near = () if runs is None else moving_target.shares_llc(runs, root)
    cost: dict[str, Any] = {"hard_limit_ns": limit_ns}
    if near:
        cost |= WITHIN if set(cpus) <= set(near) else BETWEEN
    question = {"rules": rules_named(rules).within(window_ns), "waiting": cost, "llc": moving_target.llcs(root)}
    return Rules(rules, question, window_ns, limit_ns)


def _waited(process: Process, stream: Counted | tuple[str, ...], rules: Rules) -> Waited:
    if isinstance(stream, tuple):
        return Waited("not_counted", 0, rules.limit_ns, rules.name, "nothing", False, (), None, stream)
    # Windows may be longer than asked, where reading takes long.
    return wait(process.pid, stream, replace(rules, window_ns=max(rules.window_ns, stream.counting.window_ns)))


def _prepared(machine: Host, process: Process, root: str | Path) -> contextlib.AbstractContextManager[object]:
    """Have what it has now in the journal, which takes milliseconds: the move itself then takes none of that.

    It is bound to what it may use, which changes nothing. Threads with CPUs of their own would be changed: theirs are
    written when it is moved.
    """
    if any(each != process.allowed for each in moving_target.masks(process.pid, root)):
        return contextlib.nullcontext()
    return machine.hold(Settings.of({KNOB: running_tasks.setting({process: process.allowed})}))


def chosen(process: Process, cpu: int | str | Sequence[int], llc: str | None, root: str | Path) -> tuple[int, ...]:
    """The CPUs that it is moved to. Raises UsageError and RefusedError."""
    if cpu == LEAST_LOADED:
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
    waited = () if done.waited is None else (wording.counting(done.waited), *done.waited.remarks)
    told = replace(done, took_ns=on.took_ns, remarks=(*on.remarks, *waited, *more))
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
