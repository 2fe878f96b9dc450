"""One move of a running process, as `becalm migrate` makes it, and a recording that moves its process
(`migrate_recorded`): the CPUs to move to, the rules for the moment of the move, and the binding.

    plan_move(pid, cpu, llc, root) -> Move          chooses the CPUs; raises where the process cannot be moved
    move.rules(name, window, limit)                 the rules that decide the moment
    move.prepare(machine)                           writes the present affinity to the journal
    move.wait_for_moment(stream, rules) -> Waited   returns at the moment; the caller owns the recording
    move.replan()                                   chooses the CPU that is least loaded by now
    move.setting(), move.describe(waited)           the settings for the agent, and the result
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from becalm import system_clock
from becalm.errors import RefusedError, UsageError
from becalm.hosts import Host
from becalm.hosts.applied_settings import AppliedSettings
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
"""The hard limit of waiting, ns (crates/becalm-sim/src/spots/wait.rs)."""

WITHIN = {"counted": "references", "miss_ns": 12.9}
"""The cost of a move within a last-level cache: the private caches are lost, and each reference to the shared cache
costs its 40 cycles at 3.1 GHz."""

BETWEEN = {"counted": "hits", "miss_ns": 96.8}
"""The cost of a move to another last-level cache: hits are lost, too, and each becomes an access to memory of 300
cycles."""

LOAD_S = 0.2
"""The time over which the load of CPUs is read, s: 20 ticks of the kernel's accounting at the lowest rate, 100 Hz."""

Cpus = int | str | Sequence[int]


class Move(msgspec.Struct, frozen=True):
    """A planned move of a process. `cpu`, `llc`: the requested destination; `cpus`: the CPUs chosen from it.

    `before`: the busy ticks of each CPU at the time of planning.
    """

    process: Process
    name: str
    cpu: Cpus
    llc: str | None
    cpus: tuple[int, ...]
    root: str | Path = "/"
    before: dict[int, int] = msgspec.field(default_factory=dict)

    def rules(
        self,
        name: str,
        window: float | str | None,
        limit: float | str | None,
        costs: Mapping[str, Any] | None = None,
        thresholds: tuple[float | None, float | None] = (None, None),
    ) -> Rules:
        """Return the rules that decide the moment of the move.

        A move within a last-level cache is weighed by references, a move to another one by hits. `costs`: values of p
        and t_s for the waiting rule that replace the defaults; `thresholds`: S1 and S2.
        """
        window_ns = WINDOW_NS if window is None else duration_ns(window)
        limit_ns = limit_of(limit)
        runs = migrate_target.last_cpu(self.process.pid, self.root)
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

    def prepare(self, machine: Host) -> contextlib.AbstractContextManager[object]:
        """Write the present affinity to the journal, which takes milliseconds that the move itself then saves.

        The process is bound to the CPUs that it may use already, which changes nothing. If a thread has an affinity of
        its own, binding would change it; the journal is then written when the process is moved.
        """
        if any(mask != self.process.allowed for mask in migrate_target.masks(self.process.pid, self.root)):
            return contextlib.nullcontext()
        return machine.hold(Settings.of({KNOB: place_tasks.setting({self.process: self.process.allowed})}))

    def wait_for_moment(
        self, stream: CountedStream | tuple[str, ...], rules: Rules, *, after_ns: int = 0, at_once: bool = False
    ) -> Waited:
        """Wait for the moment of the move, as `wait` does.

        A tuple in place of a stream has the reasons why nothing can be counted; then there is no waiting.
        """
        if isinstance(stream, tuple):
            return Waited("not_counted", 0, rules.limit_ns, rules.name, "nothing", False, (), None, stream)
        # Where reading counts takes long, windows are longer than requested.
        widened = replace(rules, window_ns=max(rules.window_ns, stream.counting.window_ns))
        return wait(self.process.pid, stream, widened, after_ns=after_ns, at_once=at_once)

    def replan(self) -> Move:
        """Return the move to the CPU that is least loaded now: the process and the load may have moved meanwhile."""
        if self.cpu != LEAST_LOADED:
            return self
        candidates = migrate_target.candidates(self.process, self.llc, self.root)
        least = migrate_target.least_loaded(candidates, self.before, migrate_target.busy_ticks(self.root))
        return replace(self, cpus=(least,))

    def stay(self) -> Move:
        """Return the move to the CPU where the process runs already, for comparison: it is bound but does not move."""
        runs = migrate_target.last_cpu(self.process.pid, self.root)
        return self if runs is None else replace(self, cpu=runs, cpus=(runs,))

    def setting(self) -> Settings:
        """Return the settings for the agent."""
        return joint_settings([self])

    def describe(self, waited: Waited | None) -> Migrated:
        """Return the state of the process before the move. `waited`: the result of waiting, if there was any."""
        threads = len(migrate_target.threads_of(self.process.pid, self.root))
        came = migrate_target.last_cpu(self.process.pid, self.root)
        # A process that was planned at its start may have called exec since.
        name = place_tasks.name_of(self.process.pid, self.root) or self.name
        return Migrated(self.process.pid, name, came, self.cpus, threads, 0, waited)


def plan_move(
    pid: int, cpu: Cpus = LEAST_LOADED, llc: str | None = None, root: str | Path = "/", *, load_s: float | None = None
) -> Move:
    """Return a move of a process.

    `load_s`: how long the load of CPUs is read if the least loaded one is requested; 0 is enough for a move that is
    replanned after waiting. Raises UsageError for an unknown process or invalid CPUs, and RefusedError where the
    process cannot be moved there.
    """
    process, name = movable_process(pid, root)
    before = migrate_target.busy_ticks(root)
    return Move(process, name, cpu, llc, choose_cpus(process, cpu, llc, root, before, load_s), root, before)


def joint_settings(moves: Sequence[Move]) -> Settings:
    """Return the settings that bind the processes of several moves."""
    return Settings.of({KNOB: place_tasks.setting({move.process: move.cpus for move in moves})})


def movable_process(pid: int, root: str | Path) -> tuple[Process, str]:
    """Return a process that can be moved, and its name. Raises UsageError and RefusedError."""
    name = place_tasks.name_of(pid, root)
    if migrate_target.is_kernel_thread(pid, root):
        raise RefusedError(wording.of_kernel(pid, name))
    process = place_tasks.read_process(pid, root)
    if process is None:
        raise UsageError(wording.no_process(pid))
    return process, name


def choose_cpus(
    process: Process, cpu: Cpus, llc: str | None, root: str | Path, before: dict[int, int], load_s: float | None
) -> tuple[int, ...]:
    """Return the CPUs to move to. Raises UsageError and RefusedError."""
    if cpu == LEAST_LOADED:
        candidates = migrate_target.candidates(process, llc, root)
        if len(candidates) > 1:
            system_clock.sleep(LOAD_S if load_s is None else load_s)
        return (migrate_target.least_loaded(candidates, before, migrate_target.busy_ticks(root)),)
    cpus = cpu_list((cpu,) if isinstance(cpu, int) else cpu)
    return migrate_target.check_cpus(process, cpus, llc, root)


def limit_of(limit: float | str | None) -> int:
    """Return the hard limit of waiting, ns. Raises UsageError for an invalid one."""
    limit_ns = LIMIT_NS if limit is None else duration_ns(limit)
    if not 0 < limit_ns <= LIMIT_NS:
        raise UsageError(wording.no_limit(limit_ns))
    return limit_ns


def with_sentence(done: Migrated, on: AppliedSettings, more: tuple[str, ...] = ()) -> Migrated:
    """Return the result with its sentence and with the remarks of the agent and on the counts."""
    waited = () if done.waited is None else (wording.counting(done.waited), *done.waited.remarks)
    migrated = replace(done, took_ns=on.took_ns, remarks=(*on.remarks, *waited, *more))
    return replace(migrated, sentence=wording.sentence(migrated))
