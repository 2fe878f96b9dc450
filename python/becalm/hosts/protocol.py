"""The interface that all kinds of hosts implement, and the request to measure.

Missing abilities of a host are data in its `facts()`, with the reason and a way out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from becalm.hosts.abilities import Abilities
    from becalm.hosts.applied_settings import AppliedSettings, Planned
    from becalm.hosts.boot_entry import BootEntryHost
    from becalm.hosts.events import Event
    from becalm.hosts.recorded import RecordEvent, Recording
    from becalm.hosts.running_load import RunningLoad
    from becalm.load.live import Reading
    from becalm.nouns.demand import Demand
    from becalm.nouns.elsewhere import Place
    from becalm.nouns.knob import Knob
    from becalm.nouns.run import Block, Run
    from becalm.nouns.settings import Settings
    from becalm.nouns.workload import Workload
    from becalm.results.settings import Reset, Status


def _ignore(sentence: str) -> None:
    """Ignore a sentence, as there is no listener."""


class Left(msgspec.Struct, frozen=True):
    """The place where the agent of a killed becalm may still have finished runs.

    `place`: the place in becalm's spool (`becalm.hosts.spool_entry`). `take`: a function that takes the fetched lines.
    """

    place: Place
    take: Callable[[bytes], None]


class Access(msgspec.Struct, frozen=True):
    """The way to access the machine.

    - `user`: the user that runs workloads; `sudo`: whether sudo may start the helper that changes settings
    - `spool`: the descriptor of a file that takes finished runs at once (docs/reference/protocol.md)
    - `root`: a directory that looks like `/`, to use instead of the machine
    - `title`: the purpose, for others who see the machine changed
    - `owner`: a name that separates changes by one user
    - `config`: a configuration file for ssh instead of the usual one
    - `called`: the user's name for the machine, if it is not its address
    - `reboot`: consent to restarts of the machine
    - `say`: a function for sentences to the user while something takes long, such as a restart
    - `left`: places where earlier becalms have left runs
    - `observed`: whether runs will be observed, which can be prepared at the start
    - `waits_by`: the interface of the kernel that counts whom programs wait for; None: that is estimated
    """

    user: str | None = None
    sudo: bool = False
    spool: int | None = None
    root: str | None = None
    title: str = ""
    owner: str = ""
    config: str | None = None
    called: str | None = None
    reboot: bool = False
    say: Callable[[str], None] = _ignore
    left: Sequence[Left] = ()
    observed: bool = False
    waits_by: str | None = None


Parameters = tuple[str, ...]
"""Parameters of the kernel's command line, in addition to those with which the machine usually boots."""


class LoadDetail(StrEnum):
    """The detail in which other load of the machine is observed: not at all, around each run, or also over time."""

    NONE = "none"
    TOTALS = "totals"
    SERIES = "series"


class MeasureRequest(msgspec.Struct, frozen=True):
    """A block to measure, with runs numbered from `first`. `stop_on_failure`: whether a failed run ends it.
    `recording`: what to record about the scheduling of tasks meanwhile (`becalm.hosts.recorded`).

    Hosts that do not reboot ignore `Block.fresh_boot`.
    """

    first: int
    block: Block
    detail: LoadDetail = LoadDetail.NONE
    stop_on_failure: bool = True
    recording: Recording | None = None

    def whole(self, done: int) -> int:
        """Return `done`, or one less if the last finished step starts together with the next one: of two programs that
        start at the same time, both count as done, or neither."""
        starts = self.block.starts[:done]
        return done - 1 if starts and starts[-1].with_next else done

    def after(self, done: int, end: int | None = None) -> MeasureRequest:
        """Return the rest of the request after `done` steps, up to the step `end` or to its last one."""
        steps, starts = self.block.steps[done:end], self.block.starts[done:end]
        return replace(self, first=self.first + done, block=replace(self.block, steps=steps, starts=starts))


@runtime_checkable
class Resumable(Protocol):
    """A host with a state that a resumed study needs, such as its own time, or settings with which it has started."""

    def go_on(self, runs: Sequence[Run], settings: Sequence[Settings]) -> None:
        """Restore the state after the first runs of a study; `settings`: those of the study, by position."""
        ...


class Host(AbstractContextManager["Host"], Protocol):
    """A host that runs blocks of steps. As a context manager, it ends everything that it started, and restores.

    All kinds have all methods. A method that a kind cannot do raises UsageError with the reason in `abilities`.
    """

    @property
    def name(self) -> str:
        """The name by which the host was opened, or an alias for it."""
        ...

    @property
    def boot_ns(self) -> int | None:
        """The time of the last requested boot, ns; None before the first one, 0 if boots take no time."""
        ...

    def abilities(self) -> Abilities:
        """Return the abilities, with reasons for missing ones, without a request to the machine."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return the properties of the machine, read once, and its abilities; missing values have reasons."""
        ...

    def user(self) -> str:
        """Return the user that programs run as, or the empty string."""
        ...

    def knobs(self) -> list[Knob]:
        """Return the settings, each with its present value or the reason why it is not supported."""
        ...

    def plan(self, settings: Settings, *, dangerous: bool = False) -> Planned:
        """Return the changes that settings would make, without writing. Raises UsageError, RefusedError."""
        ...

    def hold(self, settings: Settings, *, dangerous: bool = False) -> AbstractContextManager[AppliedSettings]:
        """Apply settings for as long as the context lasts; leaving it in any way restores them.

        Raises UsageError, RefusedError, and on leaving UnsettledError if something is not as before.
        """
        ...

    def keep(self, settings: Settings, *, dangerous: bool = False) -> AppliedSettings:
        """Apply settings until `restore`, also after the host is closed. Raises UsageError, RefusedError."""
        ...

    def restore(self, *, force: bool = False, mine: bool = False) -> Reset:
        """Restore settings that an earlier becalm kept or left.

        `force`: also overwrite later changes by others, and end another becalm that holds the machine. `mine`: refuse
        settings that another user has applied.
        """
        ...

    def status(self) -> Status:
        """Return the settings that are applied, who applied them and when."""
        ...

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Define workloads and settings for later steps, and return the absolute path of each program.

        Settings that no step names until the next call may be None. `dangerous`: consent to settings that can make the
        machine slow, hot or hard to reach. Raises WorkloadError if a program cannot be run, UsageError for an unknown
        or unsuitable setting.
        """
        ...

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Run the steps in order, and yield events (`becalm.hosts.events`).

        The settings of a step are applied before it runs, and may stay applied for the next block, until `settle`. A
        host may yield no loads even if they are requested. Errors are raised after earlier runs were yielded.
        """
        ...

    def settle(self) -> None:
        """Restore all applied settings. Raises UnsettledError if something is not as before."""
        ...

    def read(self, *, consumers: int = 0) -> Reading:
        """Return the activity of the machine since the previous reading, with this number of `consumers` by name."""
        ...

    def follow(self, pid: int, period_ns: int, *, consumers: int = 0) -> Iterator[tuple[dict[str, Any], Reading]]:
        """Yield readings of a running process and of the machine, until the process ends or `stop`."""
        ...

    def record(
        self, recording: Recording, pid: int | None = None, *, started: int | None = None
    ) -> Iterator[RecordEvent]:
        """Yield which task runs when, with two counters per CPU, until the process `pid` ends or `stop`
        (`becalm.hosts.recorded`).

        `started`: the start time of the process, in ticks since boot, to reject another process with its number. Raises
        RefusedError if nothing can be recorded, WorkloadError if there is no such process.
        """
        ...

    def reboot(self, parameters: Parameters) -> None:
        """Restart the machine with these parameters on its kernel's command line, or without any.

        Raises BootError if the machine did not start with them but runs, or can run, without them; MachineError if it
        is lost.
        """
        ...

    def boot_entry(self) -> BootEntryHost:
        """Return the machine's boot loader, for settings that stay. From now on, closing the host does not restart
        it."""
        ...

    def loading(self, demand: Demand) -> AbstractContextManager[RunningLoad]:
        """Make known load next to programs, on their machine, for as long as the context lasts.

        The load is up when the context begins. Raises UsageError, MachineError if the machine cannot make it.
        """
        ...

    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """Return times of starting and waiting for an empty program, ns: directly, and with all that becalm adds."""
        ...

    def stop(self) -> None:
        """End the current request; safe to call from a signal handler or another thread."""
        ...

    def close(self) -> None:
        """Close the host, end everything that it started, and restore all settings."""
        ...
