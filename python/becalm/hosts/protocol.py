"""The interface of hosts, which all kinds implement alike, and the request to measure.

What a host cannot do is data in its `facts()`, with the reason and a way out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from becalm.values import dataclass

if TYPE_CHECKING:
    from becalm.hosts.abilities import Abilities
    from becalm.hosts.beside import LoadBeside
    from becalm.hosts.boot_entry import BootEntryHost
    from becalm.hosts.events import Event
    from becalm.hosts.held import Planned, PutOn
    from becalm.hosts.recorded import RecordEvent, Recording
    from becalm.load.live import Reading
    from becalm.nouns.demand import Demand
    from becalm.nouns.elsewhere import Place
    from becalm.nouns.knob import Knob
    from becalm.nouns.run import Block, Run
    from becalm.nouns.settings import Settings
    from becalm.nouns.workload import Workload
    from becalm.results.settings import Reset, Status


def _nobody(sentence: str) -> None:
    """Ignore a sentence, where there is no listener."""


@dataclass(frozen=True, slots=True)
class Left:
    """The place where the agent of a killed becalm may still have finished runs.

    `place`: as its host has left it in becalm's spool (`becalm.hosts.left`). `take`: takes the lines that are found.
    """

    place: Place
    take: Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Access:
    """The way to reach the machine: the workload's user, and whether sudo may start what changes settings.

    `spool` is the descriptor of a file that takes finished runs at once (docs/reference/protocol.md). `root`: act on a
    directory that looks like `/` instead of the machine. `title`: what for, as others who find the machine changed will
    read it; `owner`: a name of the person's for it, apart from others of the same user. `config`: a configuration file
    for ssh instead of the person's usual one. `called`: the name that was given for the machine, when it is not its
    address. `reboot`: the person consents to restarts of the machine. `say`: takes
    sentences for the person while something takes long: a connection that was lost, a restart. `left`: what earlier
    becalms have left on machines, each for the host that finds it there. `observed`: runs will be observed, which
    can be made ready at the start.
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
    say: Callable[[str], None] = _nobody
    left: Sequence[Left] = ()
    observed: bool = False


Parameters = tuple[str, ...]
"""Words of the kernel's command line, beyond those that the machine boots with anyway."""


class LoadDetail(StrEnum):
    """The detail in which other load of the machine is observed: not at all, around each run, or also over time."""

    NONE = "none"
    TOTALS = "totals"
    SERIES = "series"


@dataclass(frozen=True, slots=True)
class MeasureRequest:
    """A block to measure, its runs numbered from `first`. `stop_on_failure`: it ends with a run that does not end well.
    `recording`: who runs when is recorded meanwhile (`becalm.hosts.recorded`).

    `Block.fresh_boot` means nothing to a host that does not reboot.
    """

    first: int
    block: Block
    detail: LoadDetail = LoadDetail.NONE
    stop_on_failure: bool = True
    recording: Recording | None = None

    def whole(self, done: int) -> int:
        """Return the number of steps, `done` or one less, after which no step waits for the next one: programs that
        start at the same time are both done, or neither."""
        starts = self.block.starts[:done]
        return done - 1 if starts and starts[-1].with_next else done

    def after(self, done: int, end: int | None = None) -> MeasureRequest:
        """Return the rest of the request after `done` steps; up to the step `end`, if one is given."""
        steps, starts = self.block.steps[done:end], self.block.starts[done:end]
        return replace(self, first=self.first + done, block=replace(self.block, steps=steps, starts=starts))


@runtime_checkable
class Resumable(Protocol):
    """The part of a host that a resumed study needs: time that is the host's own, or the settings that its machine is
    known to start with."""

    def go_on(self, runs: Sequence[Run], settings: Sequence[Settings]) -> None:
        """Take the state after these runs, the first ones of the study, whose settings are these by position."""
        ...


class Host(AbstractContextManager["Host"], Protocol):
    """Runs blocks of steps. Used as a context manager: leaving it ends everything that it started, and restores.

    All kinds have all of this. What one cannot do raises UsageError with the reason that `abilities` gives.
    """

    @property
    def name(self) -> str:
        """The name it was opened by, or an alias for it."""
        ...

    @property
    def boot_ns(self) -> int | None:
        """The time of the last boot, ns; None before the first requested one, 0 where a boot takes no time."""
        ...

    def abilities(self) -> Abilities:
        """Return the abilities, with the reason for each that is missing. Asks nothing of the machine."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return the properties of the machine, read once, and its abilities; everything missing has a reason."""
        ...

    def user(self) -> str:
        """Return the user that programs run as there; empty where there is none."""
        ...

    def knobs(self) -> list[Knob]:
        """Return the settings, each with its present value or the reason why it is not supported."""
        ...

    def plan(self, settings: Settings, *, dangerous: bool = False) -> Planned:
        """Return the changes that settings would make, without writing. Raises UsageError, RefusedError."""
        ...

    def hold(self, settings: Settings, *, dangerous: bool = False) -> AbstractContextManager[PutOn]:
        """Have settings on for as long as the context lasts; leaving it, in whatever way, restores.

        Raises UsageError, RefusedError; on leaving UnsettledError when something is not as it was before.
        """
        ...

    def keep(self, settings: Settings, *, dangerous: bool = False) -> PutOn:
        """Put settings on to stay, also when the host is closed, until `restore`. Raises UsageError, RefusedError."""
        ...

    def restore(self, *, force: bool = False, mine: bool = False) -> Reset:
        """Put back what an earlier becalm kept or left.

        `force`: also what somebody else has changed since, and end whoever holds the machine. `mine`: refuse what
        somebody else has put on.
        """
        ...

    def status(self) -> Status:
        """Return the settings that are applied, by whom and when."""
        ...

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Make the workloads and settings known; returns the absolute path of each program.

        Settings that no step will name until the next call may be None. `dangerous`: the person consents to settings
        that can make the machine slow, hot or hard to reach. Raises WorkloadError when a program cannot be run,
        UsageError for an unknown or unsuitable setting.
        """
        ...

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Run the steps in order; tells what happens (`becalm.hosts.events`).

        The settings of a step are on before it runs, and may stay on for the next block: `settle` ends that. Of loads
        a host may know nothing, whatever was asked for. Errors are raised after the runs that ended before were told.
        """
        ...

    def settle(self) -> None:
        """Put everything back that was set. Raises UnsettledError when something is not as it was before."""
        ...

    def read(self, *, consumers: int = 0) -> Reading:
        """Return what the machine did since the previous reading; `consumers`: the number of processes to name."""
        ...

    def follow(self, pid: int, period_ns: int, *, consumers: int = 0) -> Iterator[tuple[dict[str, Any], Reading]]:
        """Yield the readings of a running process, each with what the machine did meanwhile, until `stop`."""
        ...

    def record(
        self, recording: Recording, pid: int | None = None, *, started: int | None = None
    ) -> Iterator[RecordEvent]:
        """Yield which task runs when, with two counters per CPU, until the process `pid` ends or `stop`
        (`becalm.hosts.recorded`).

        `started`: when it began, ticks since boot, so that another one with its number is not taken for it. Raises
        RefusedError where nothing can be recorded, with what can be; WorkloadError when there is no such process.
        """
        ...

    def reboot(self, parameters: Parameters) -> None:
        """Start the machine again with these words on its kernel's command line; none: as it starts by itself.

        Raises BootError when the machine did not come up with them and is, or can be brought, up without them;
        MachineError when it is lost.
        """
        ...

    def boot_entry(self) -> BootEntryHost:
        """Return the machine's boot loader, for settings that stay. From now on the machine is left on its boot."""
        ...

    def loading(self, demand: Demand) -> AbstractContextManager[LoadBeside]:
        """Have known load made beside programs, on the machine that they run on, for as long as the context lasts.

        It is up when the context begins. Raises UsageError, MachineError where the machine cannot make it.
        """
        ...

    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """Return the times of starting and waiting for an empty program, ns: bare, and with all that becalm adds."""
        ...

    def stop(self) -> None:
        """End what is under way; safe to call from a signal handler or another thread."""
        ...

    def close(self) -> None:
        """End the host and everything it started; what it had set is put back."""
        ...
