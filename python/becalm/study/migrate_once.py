"""One move of a running process: where to, what it waits for, and how it is bound. `becalm migrate` makes one, and a
recording that moves what it records does (`recorded_move`).

    planned(pid, cpu, llc, root) -> Move    the process, and CPUs that it may be moved to; raises where it cannot be
    move.rules(name, window, limit)         by what the moment is decided
    move.prepared(machine)                  what it has now is in the journal
    move.awaited(stream, rules) -> Waited   returns at the moment; a recording is the caller's
    move.anew()                             of the least loaded CPU, the one that is so by now
    move.setting(), move.described(waited)  what the agent binds, and the result
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from becalm import system_clock
from becalm.errors import RefusedError, UsageError
from becalm.hosts import Host
from becalm.hosts.held import PutOn
from becalm.migration.migrate import Migrated, Waited
from becalm.migration.rules import WINDOW_NS, rules_named, with_thresholds
from becalm.nouns.settings import Settings
from becalm.study import migrate_target, place_tasks
from becalm.study.counted_stream import CountedStream
from becalm.study.migrate_waiting import Rules, wait
from becalm.study.place_tasks import Process
from becalm.units import cpu_list, duration_ns
from becalm.wording import migrate as wording

KNOB = "process_cpus"
LEAST_LOADED = "least-loaded"
LIMIT_NS = 100_000_000
"""The hard limit of waiting (the specification's, wait.rs)."""

WITHIN = {"counted": "references", "miss_ns": 12.9}
"""The cost of moves within a last-level cache, which lose the private caches: each reference of the shared one costs
its 40 cycles, at 3.1 GHz."""

BETWEEN = {"counted": "hits", "miss_ns": 96.8}
"""The cost of moves to another one, which lose hits, too: each hit then is an access to memory, 300 cycles."""

LOAD_S = 0.2
"""The time over which the load of CPUs is read, s: 20 ticks of the kernel's accounting at the lowest rate, 100 Hz."""

Cpus = int | str | Sequence[int]


@dataclass(frozen=True, slots=True)
class Move:
    """A process that is to be moved. `cpu`, `llc`: what was asked for; `cpus`: where to, by now.

    `before`: what each CPU had worked when it was planned.
    """

    process: Process
    name: str
    cpu: Cpus
    llc: str | None
    cpus: tuple[int, ...]
    root: str | Path = "/"
    before: dict[int, int] = field(default_factory=dict)

    def rules(
        self,
        name: str,
        window: float | str | None,
        limit: float | str | None,
        costs: Mapping[str, Any] | None = None,
        thresholds: tuple[float | None, float | None] = (None, None),
    ) -> Rules:
        """Return the rules that decide the moment: within a last-level cache its references count, to another one its
        hits.

        `costs`: other p and t_s of the waiting rule; `thresholds`: S1 and S2.
        """
        window_ns = WINDOW_NS if window is None else duration_ns(window)
        limit_ns = limit_of(limit)
        runs = migrate_target.runs_on(self.process.pid, self.root)
        near = () if runs is None else migrate_target.shares_llc(runs, self.root)
        cost: dict[str, Any] = {"hard_limit_ns": limit_ns}
        if near:
            cost |= WITHIN if set(self.cpus) <= set(near) else BETWEEN
        cost |= dict(costs or {})
        question = {
            "rules": with_thresholds(rules_named(name).within(window_ns), name, *thresholds), "waiting": cost,
            "llc": migrate_target.llcs(self.root),
        }  # fmt: skip
        return Rules(name, question, window_ns, limit_ns)

    def prepared(self, machine: Host) -> contextlib.AbstractContextManager[object]:
        """Have what it has now in the journal, which takes milliseconds: the move itself then takes none of that.

        It is bound to what it may use, which changes nothing. Threads with CPUs of their own would be changed: theirs
        are written when it is moved.
        """
        if any(mask != self.process.allowed for mask in migrate_target.masks(self.process.pid, self.root)):
            return contextlib.nullcontext()
        return machine.hold(Settings.of({KNOB: place_tasks.setting({self.process: self.process.allowed})}))

    def awaited(
        self, stream: CountedStream | tuple[str, ...], rules: Rules, *, after_ns: int = 0, at_once: bool = False
    ) -> Waited:
        """Wait for the moment, as `wait` does; a stream that is none says why nothing can be counted."""
        if isinstance(stream, tuple):
            return Waited("not_counted", 0, rules.limit_ns, rules.name, "nothing", False, (), None, stream)
        # Windows may be longer than asked, where reading takes long.
        asked = replace(rules, window_ns=max(rules.window_ns, stream.counting.window_ns))
        return wait(self.process.pid, stream, asked, after_ns=after_ns, at_once=at_once)

    def anew(self) -> Move:
        """Return the move with the now least loaded CPU: the process may run elsewhere, and others may work more."""
        if self.cpu != LEAST_LOADED:
            return self
        found = migrate_target.candidates(self.process, self.llc, self.root)
        least = migrate_target.least_loaded(found, self.before, migrate_target.busy(self.root))
        return replace(self, cpus=(least,))

    def staying(self) -> Move:
        """Return the move to the CPU where it runs already, for comparison: it is bound as others are, and does not
        move."""
        runs = migrate_target.runs_on(self.process.pid, self.root)
        return self if runs is None else replace(self, cpu=runs, cpus=(runs,))

    def setting(self) -> Settings:
        """Return the settings for the agent."""
        return together([self])

    def described(self, waited: Waited | None) -> Migrated:
        """Return the description of what is about to be moved, as it is now."""
        threads = len(migrate_target.threads_of(self.process.pid, self.root))
        came = migrate_target.runs_on(self.process.pid, self.root)
        # One that was planned as it began may have begun another program since.
        name = place_tasks.name_of(self.process.pid, self.root) or self.name
        return Migrated(self.process.pid, name, came, self.cpus, threads, 0, waited)


def planned(
    pid: int, cpu: Cpus = LEAST_LOADED, llc: str | None = None, root: str | Path = "/", *, load_s: float | None = None
) -> Move:
    """Return a move of a process, which looks at the load of CPUs for `load_s` where the least loaded one is asked for.

    0 is enough for one that is looked for `anew` when it has waited.
    Raises UsageError (no such process, words that are no CPUs) and RefusedError (it cannot be moved there).
    """
    process, name = looked(pid, root)
    before = migrate_target.busy(root)
    return Move(process, name, cpu, llc, chosen(process, cpu, llc, root, before, load_s), root, before)


def together(moves: Sequence[Move]) -> Settings:
    """Return the request for several moves."""
    return Settings.of({KNOB: place_tasks.setting({move.process: move.cpus for move in moves})})


def looked(pid: int, root: str | Path) -> tuple[Process, str]:
    """Return a process that can be moved, and its name. Raises UsageError and RefusedError."""
    name = place_tasks.name_of(pid, root)
    if migrate_target.is_kernel_thread(pid, root):
        raise RefusedError(wording.of_kernel(pid, name))
    process = place_tasks.look(pid, root)
    if process is None:
        raise UsageError(wording.no_process(pid))
    return process, name


def chosen(
    process: Process, cpu: Cpus, llc: str | None, root: str | Path, before: dict[int, int], load_s: float | None
) -> tuple[int, ...]:
    """Return the CPUs to move to. Raises UsageError and RefusedError."""
    if cpu == LEAST_LOADED:
        found = migrate_target.candidates(process, llc, root)
        if len(found) > 1:
            system_clock.sleep(LOAD_S if load_s is None else load_s)
        return (migrate_target.least_loaded(found, before, migrate_target.busy(root)),)
    cpus = cpu_list((cpu,) if isinstance(cpu, int) else cpu)
    return migrate_target.asked(process, cpus, llc, root)


def limit_of(limit: float | str | None) -> int:
    """Return the hard limit of waiting, ns. Raises UsageError for an invalid one."""
    limit_ns = LIMIT_NS if limit is None else duration_ns(limit)
    if not 0 < limit_ns <= LIMIT_NS:
        raise UsageError(wording.no_limit(limit_ns))
    return limit_ns


def said(done: Migrated, on: PutOn, more: tuple[str, ...] = ()) -> Migrated:
    """Return the result with its sentence, and with remarks of the agent and on the counts."""
    waited = () if done.waited is None else (wording.counting(done.waited), *done.waited.remarks)
    told = replace(done, took_ns=on.took_ns, remarks=(*on.remarks, *waited, *more))
    return replace(told, sentence=wording.sentence(told))
