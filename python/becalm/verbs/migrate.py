"""`becalm migrate`: a running process moved to other CPUs, at once or when it is cheap, and back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from becalm import hosts, system_clock
from becalm.errors import UsageError
from becalm.hosts import Ability, Access, Host
from becalm.hosts.recorded import known_means
from becalm.migration.migrate import Migrated
from becalm.migration.rules import waiting_cost
from becalm.study import counted_stream, migrate_target, place_tasks
from becalm.study.migrate_once import LEAST_LOADED, Move, joint_settings, plan_move, with_sentence
from becalm.study.place_tasks import Process
from becalm.units import duration_ns
from becalm.wording import migrate as wording
from becalm.wording.place_running import until_end, until_reset

TITLE = "becalm migrate"

LOOK_S = 0.2
"""The interval of checking that the process still exists, s."""

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
    by: str | None = None,
    s1: float | None = None,
    s2: float | None = None,
    reuse: float | None = None,
    miss_cost: float | str | None = None,
    llc: str | None = None,
    keep: bool = False,
    duration: float | str | None = None,
    host: str | Host = "local",
    sudo: bool = False,
    root: str | Path = "/",
    say: Say | None = None,
) -> Migrated:
    """Move a running process: bind every thread of it to other CPUs, within those that it may use.

    Arguments:
        pid: the process.
        cpu: the destination: a number, a list ("2-3"), or "least-loaded", the least loaded of those that it may use.
        at_sweetspot: wait for a moment at which moving is cheap: its working set changes (type 1), it is evicted while
            it waits (2), or it begins another program (0); no longer than the wait can save, or than the limit.
        rules: the rules that find these moments: rise (becalm's own), published, adaptive or cusum.
        window: T, the interval of counting, seconds or text ("5ms").
        limit: the longest wait, after which it is moved in any case; at most "100ms", the default.
        events: the counted events: "llc" (the last-level cache), "ws_turnover" (pages it newly uses), "faults" (type 0
            only), or "auto", the first of these that the machine can count.
        by: how switches are observed: "perf", or "bpf" where the agent was built with programs for the kernel.
        s1, s2: the shares of own and of others' references above which misses are many; S1 of the published rules.
        reuse: p, the probability that a line is used again; 0.8 as published.
        miss_cost: t_s, the cost of losing a line ("96.8ns") [default: the cost for the cache that it leaves].
        llc: only to CPUs of the "same" or another ("other") last-level cache than the one where it runs.
        keep: the process stays there until `reset`; otherwise it gets its CPUs back at the end of this call.
        duration: the longest time of this call, seconds or text ("10min"); None: until the process ends, or Ctrl-C.
        host: the host whose agent binds it; the process is looked up on this machine.
        sudo: bind the process as root.
        root: a directory that looks like `/`, in which to look up the process.
        say: called with a sentence about the move if that is temporary.

    Raises UsageError, RefusedError (no such process, one that ends before it was moved, CPUs that are offline or that
    it may not use, a thread of the kernel), MachineError. Nothing is left bound then.
    """
    (done,) = migrate_all(
        [pid], cpu, at_sweetspot=at_sweetspot, rules=rules, window=window, limit=limit, events=events, by=by, s1=s1,
        s2=s2, reuse=reuse, miss_cost=miss_cost, llc=llc, keep=keep, duration=duration, host=host, sudo=sudo, root=root,
        say=say,
    )  # fmt: skip
    return done


def migrate_all(
    pids: Sequence[int],
    cpu: int | str | Sequence[int] = LEAST_LOADED,
    *,
    at_sweetspot: bool = False,
    rules: str | None = None,
    window: float | str | None = None,
    limit: float | str | None = None,
    events: str | None = None,
    by: str | None = None,
    s1: float | None = None,
    s2: float | None = None,
    reuse: float | None = None,
    miss_cost: float | str | None = None,
    llc: str | None = None,
    keep: bool = False,
    duration: float | str | None = None,
    host: str | Host = "local",
    sudo: bool = False,
    root: str | Path = "/",
    say: Say | None = None,
) -> tuple[Migrated, ...]:
    """Move several running processes, one after the other, and hold them there together.

    Arguments:
        pids: the processes; each is moved at its own moment with `at_sweetspot`, and "least-loaded" is determined anew.
        The others are those of `migrate`.

    Raises the errors of `migrate`; none of several is left bound then.
    """
    seconds = None if duration is None else duration_ns(duration) / 1e9
    if not pids or len(set(pids)) < len(pids):
        raise UsageError("Name each process once, for example: becalm migrate 1234,5678 2-3")
    if keep and seconds is not None:
        raise UsageError(
            "--keep leaves the process there, and the time says when it comes back: leave one of them out."
        )
    if llc is not None and llc not in migrate_target.LLC:
        raise UsageError(wording.other_llc(llc, migrate_target.LLC))
    for option, value in (
        ("rules", rules), ("window", window), ("limit", limit), ("events", events), ("by", by), ("s1", s1), ("s2", s2),
        ("reuse", reuse), ("miss-cost", miss_cost),
    ):  # fmt: skip
        if value is not None and not at_sweetspot:
            raise UsageError(wording.belongs(f"--{option}"))
    means, cost = known_means(by or "perf"), waiting_cost(reuse, miss_cost)
    planned_all = [plan_move(pid, cpu, llc, root, load_s=None if at == 0 else 0.0) for at, pid in enumerate(pids)]
    access = Access(sudo=sudo, title=TITLE)
    with contextlib.ExitStack() as on_machine:
        machine = on_machine.enter_context(hosts.open(host, access))
        hosts.need(machine.name, machine.abilities(), Ability.KEEP if keep else Ability.HOLD)
        moves: list[tuple[Move, Migrated]] = []
        results: list[Migrated] = []
        held = on_machine.enter_context(contextlib.ExitStack())
        for number, move in enumerate(planned_all):
            # Processes that were bound meanwhile are part of the load.
            move = plan_move(move.process.pid, cpu, llc, root) if number and cpu == LEAST_LOADED else move
            waited = None
            if at_sweetspot:
                request = move.rules(rules or "rise", window, limit, cost, (s1, s2))
                on_machine.enter_context(move.prepare(machine))
                with (
                    hosts.open(host, access) as counter,
                    counted_stream.begin(counter, move.process, events or "auto", request.window_ns, means) as stream,
                ):
                    waited = move.wait_for_moment(stream, request)
                move = move.replan()
            moves.append((move, move.describe(waited)))
            if not keep:
                results.append(with_sentence(moves[-1][1], held.enter_context(machine.hold(move.setting()))))
        if keep:
            on = machine.keep(joint_settings([move for move, _ in moves]))
            return tuple(with_sentence(done, on, (until_reset(),)) for _, done in moves)
        with contextlib.suppress(KeyboardInterrupt):
            if say is not None:
                say(f"{' '.join(result.sentence for result in results)} {until_end(seconds)}")
            _until([move.process for move, _ in moves], seconds, root)
        held.close()
        last = [_last(move.process, root) for move, _ in moves]
        return tuple(
            replace(result, remarks=(*result.remarks, word)) for result, word in zip(results, last, strict=True)
        )


def _last(process: Process, root: str | Path) -> str:
    """Return the final state of a moved process, identified by number and start, wherever it runs by now."""
    now = place_tasks.read_process(process.pid, root)
    return wording.gone(process.pid) if now is None or now.start != process.start else wording.undone(process.pid)


def _until(processes: Sequence[Process], seconds: float | None, root: str | Path) -> None:
    """Wait until the time is over, or all processes have ended."""
    end = None if seconds is None else system_clock.monotonic() + seconds
    while end is None or system_clock.monotonic() < end:
        now = [place_tasks.read_process(process.pid, root) for process in processes]
        if all(
            current is None or current.start != process.start for current, process in zip(now, processes, strict=True)
        ):
            return
        system_clock.sleep(LOOK_S if end is None else max(0.0, min(LOOK_S, end - system_clock.monotonic())))
