"""`becalm place --apply` and `--watch`: the placement of running processes, applied by the agent and restored."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from becalm import hosts, system_clock
from becalm.analysis.place_watch import Limits, RunningState, SharingModel, step
from becalm.errors import MachineError, RefusedError, UsageError
from becalm.hosts import Ability, Access, Host
from becalm.nouns.result import Result
from becalm.nouns.settings import Settings
from becalm.results.place import PlacementAdvice, SharingShape
from becalm.study import place_tasks
from becalm.study.place_source import PlacementSource, read
from becalm.study.place_tasks import Process
from becalm.units import duration_ns
from becalm.verbs.place import place
from becalm.wording import place_running as wording

KNOB = "process_cpus"
INTERVAL_S = 2.0
"""The interval of checking which processes run, s."""

Chosen = dict[str, tuple[Process, ...]]
Say = Callable[[str], None]


class RunningPlacement(Result, frozen=True):
    """An applied placement: the advice, CPUs by program, the number of processes, remarks, and a sentence."""

    KIND = "placed"

    advice: PlacementAdvice
    cpus: Mapping[str, tuple[int, ...]]
    processes: int
    remarks: tuple[str, ...] = ()
    sentence: str = ""


def apply_placement(
    reference: str = "last",
    *,
    pid: Sequence[str] = (),
    pids: bool = False,
    duration: float | str | None = None,
    hold: bool = False,
    chips: str | None = None,
    force: bool = False,
    host: str | Host = "local",
    sudo: bool = False,
    store: str | None = None,
    root: str | Path = "/",
    say: Say | None = None,
) -> RunningPlacement:
    """Apply a placement to running processes: bind each of their threads to those CPUs of its chip that it may use.

    Arguments:
        reference, chips, store: as for `place`; programs that do not run are left out.
        pid: words such as "web=1234"; a name may occur several times.
        pids: find processes by the names and commands of the profile.
        duration: restore after this time, seconds or text ("10min"); Ctrl-C ends it sooner.
        hold: restore at Ctrl-C. With neither, it stays until `reset`.
        force: also apply without a gain, or by a profile of another machine.
        host: the host whose agent applies it; processes are looked up on this machine.
        sudo: bind processes as root; they must be yours.
        root: a directory that looks like `/`, in which to look up processes.
        say: called with a sentence about a placement that is applied for a time.

    Raises UsageError, RefusedError (nothing to gain, rounds, CPUs that a process may not use), MachineError.
    """
    source = read(reference, store)
    names = [task.name for task in source.tasks]
    if not (pid or pids):
        raise UsageError(wording.needs_processes())
    chosen = place_tasks.parse_pairs(pid, names, root)
    if pids:
        by_name = place_tasks.find_processes(names, source.commands, root)
        chosen = {**by_name, **chosen}
        if not chosen:
            raise RefusedError(wording.none_running(names))
    advice = place(reference, chips=chips, force=force, host=host, store=store, only=tuple(chosen))
    _worth(advice, force)
    bound = _bound(chosen, {name: advice.cpus_of(name) for name in chosen}, root)
    cpus = {name: bound[processes[0]] for name, processes in chosen.items()}
    settings = Settings.of({KNOB: place_tasks.setting(bound)})
    ends = duration is not None or hold
    seconds = None if duration is None else duration_ns(duration) / 1e9
    until = wording.until_end(seconds) if ends else wording.until_reset()
    done = RunningPlacement(advice, cpus, len(bound), sentence=wording.applied(cpus, len(bound), until))
    with hosts.open(host, Access(sudo=sudo, title="becalm place")) as machine:
        hosts.need(machine.name, machine.abilities(), Ability.HOLD if ends else Ability.KEEP)
        if not ends:
            return replace(done, remarks=tuple(machine.keep(settings).remarks))
        with machine.hold(settings) as on:
            if say is not None:
                say(done.sentence)
            with contextlib.suppress(KeyboardInterrupt):
                _wait(seconds)
        return replace(done, remarks=(*on.remarks, wording.undone()))


def follow_placement(
    reference: str = "last",
    *,
    duration: float | str | None = None,
    interval: float | str = INTERVAL_S,
    every: float | str = Limits().every_s,
    chips: str | None = None,
    force: bool = False,
    host: str | Host = "local",
    sudo: bool = False,
    store: str | None = None,
    root: str | Path = "/",
    say: Say | None = None,
) -> RunningState:
    """Keep the running programs of a profile on their chips as they come and go; restore everything at the end.

    Arguments:
        duration: how long, seconds or text; None: until Ctrl-C.
        interval: the time between checks of what runs.
        every: the least time between changes for programs that run already; these need a gain above twice the noise
            and above the cost of moving (`becalm.analysis.place_watch`).
        The others are those of `apply_placement`.

    Returns where each program was at the end. Raises the errors of `apply_placement`.
    """
    source = read(reference, store)
    advice = place(reference, chips=chips, force=force, host=host, store=store)
    _worth(advice, force)
    model = SharingModel(source.tasks, advice.chips, source.costs, advice.objective)
    limits = Limits(every_s=duration_ns(every) / 1e9)
    end = None if duration is None else system_clock.monotonic() + duration_ns(duration) / 1e9
    pause = duration_ns(interval) / 1e9
    with hosts.open(host, Access(sudo=sudo, title="becalm place")) as machine:
        hosts.need(machine.name, machine.abilities(), Ability.HOLD)
        followed = _Followed(machine, source, model, limits, root, say or (lambda _: None))
        try:
            while end is None or system_clock.monotonic() < end:
                followed.look(system_clock.monotonic())
                system_clock.sleep(pause if end is None else max(0.0, min(pause, end - system_clock.monotonic())))
        except KeyboardInterrupt:
            pass
        finally:
            followed.off()
    return followed.state


class _Followed:
    """The followed processes with their chips, and the applied settings."""

    def __init__(
        self, machine: Host, source: PlacementSource, model: SharingModel, limits: Limits, root: str | Path, say: Say
    ) -> None:
        self._machine, self._source, self._model, self._limits = machine, source, model, limits
        self._root, self._say = root, say
        self._names = [task.name for task in source.tasks]
        self._on = contextlib.ExitStack()
        self._is: dict[tuple[int, int], int] = {}
        self._reported: set[str] = set()
        self.state = RunningState()

    def look(self, at_s: float) -> None:
        """Look at the running processes once, and apply the changes that follow."""
        running = self._running()
        self.state, why = step(self.state, running, at_s, self._model, self._limits)
        wanted = self._wanted(running)
        if wanted == self._is:
            return
        # What a process, or one that it forked, may use shows only when it has its own CPUs back.
        self.off()
        running = {name: processes for name, processes in self._running().items() if name in self.state.chips}
        chips = {name: self._model.chips[self.state.chips[name]].cpus for name in running}
        bound: dict[Process, tuple[int, ...]] = {}
        for name, processes in running.items():
            try:
                bound |= _bound({name: processes}, chips, self._root)
            except RefusedError as error:
                self._once(str(error))
        if bound:
            try:
                self._on.enter_context(self._machine.hold(Settings.of({KNOB: place_tasks.setting(bound)})))
            except (UsageError, RefusedError, MachineError) as error:
                # One of them has ended since; the next look will notice.
                self._once(str(error))
                return
        self._is = wanted
        if why:
            self._say(wording.moved(why, {name: chips[name] for name in running}))

    def off(self) -> None:
        """Restore what is applied. Raises UnsettledError when something is not as it was."""
        on, self._on, self._is = self._on, contextlib.ExitStack(), {}
        on.close()

    def _running(self) -> Chosen:
        return place_tasks.find_processes(self._names, self._source.commands, self._root)

    def _wanted(self, chosen: Chosen) -> dict[tuple[int, int], int]:
        chips = self.state.chips
        return {
            (process.pid, process.start): chips[name] for name in chosen if name in chips for process in chosen[name]
        }

    def _once(self, sentence: str) -> None:
        if sentence not in self._reported:
            self._reported.add(sentence)
            self._say(sentence)


def _worth(advice: PlacementAdvice, force: bool) -> None:
    """Raise RefusedError for a placement that cannot be applied or gains nothing, UsageError without CPU numbers."""
    if advice.shape is SharingShape.ROUNDS:
        raise RefusedError(wording.in_rounds())
    if not all(chip.cpus for chip in advice.chips):
        raise UsageError(wording.no_cpus())
    if not (advice.over_random.found or force):
        raise RefusedError(wording.no_gain(advice))


def _bound(chosen: Chosen, cpus: Mapping[str, Sequence[int]], root: str | Path) -> dict[Process, tuple[int, ...]]:
    return {
        process: place_tasks.usable_cpus(name, process, cpus[name], root)
        for name, processes in chosen.items()
        for process in processes
    }


def _wait(seconds: float | None) -> None:
    end = None if seconds is None else system_clock.monotonic() + seconds
    while end is None or system_clock.monotonic() < end:
        system_clock.sleep(1.0 if end is None else max(0.0, min(1.0, end - system_clock.monotonic())))
