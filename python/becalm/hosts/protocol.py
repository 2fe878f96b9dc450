"""What a host is: one interface that all kinds answer alike, and how one is asked.

What a host cannot do is data in its `facts()`, with the reason and a way out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from becalm.hosts.events import Event
from becalm.nouns.knob import Knob
from becalm.nouns.run import Block
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload


def _nobody(sentence: str) -> None:
    """Where nobody listens."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach the machine: as which user the workload runs, and whether the agent is started through sudo.

    `spool` is the descriptor of a file that takes finished runs at once (docs/reference/protocol.md). `root`: act on a
    directory that looks like `/` instead of the machine. `title`: what for, as others who find the machine changed will
    read it. `config`: a configuration file for ssh instead of the person's usual one. `called`: the name that was given
    for the machine, when it is not its address. `reboot`: the person consents to restarts of the machine. `say`: takes
    sentences for the person while something takes long: a connection that was lost, a restart.
    """

    user: str | None = None
    sudo: bool = False
    spool: int | None = None
    root: str | None = None
    title: str = ""
    config: str | None = None
    called: str | None = None
    reboot: bool = False
    say: Callable[[str], None] = _nobody


class LoadDetail(StrEnum):
    """How closely it is observed what else the machine does: not at all, around each run, or also over time."""

    NONE = "none"
    TOTALS = "totals"
    SERIES = "series"


@dataclass(frozen=True, slots=True)
class MeasureRequest:
    """A block to measure, its runs numbered from `first`. `stop_on_failure`: it ends with a run that does not end well.

    `Block.fresh_boot` means nothing to a host that does not reboot.
    """

    first: int
    block: Block
    detail: LoadDetail = LoadDetail.NONE
    stop_on_failure: bool = True

    def after(self, done: int, end: int | None = None) -> MeasureRequest:
        """What is left of it when so many steps are done; up to the step `end`, if one is given."""
        return replace(self, first=self.first + done, block=replace(self.block, steps=self.block.steps[done:end]))


class Host(AbstractContextManager["Host"], Protocol):
    """Runs blocks of steps. Used as a context manager: leaving it ends everything that it started."""

    name: str
    privileged: bool
    """Whether settings of the machine itself can be changed."""
    reboots: bool
    """Whether settings of the next boot can be tried."""

    def facts(self) -> dict[str, Any]:
        """What the host is and allows; everything missing has a reason."""
        ...

    def knobs(self) -> list[Knob]:
        """The settings there are, each with its present value or the reason why it is not supported."""
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

        The settings of a step are on before it runs. Of loads a host may know nothing, whatever was asked for. Errors
        are raised after the runs that ended before them were told.
        """
        ...

    def settle(self) -> None:
        """Put everything back that was set. Raises UnsettledError when something is not as it was before."""
        ...

    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """Cost in ns of starting and waiting for an empty program: bare, and with all that becalm adds."""
        ...

    def stop(self) -> None:
        """End the block that is being measured; safe to call from a signal handler."""
        ...

    def close(self) -> None:
        """End the host and everything it started."""
        ...


@runtime_checkable
class Reboots(Protocol):
    """What a Host with `reboots` can do besides."""

    boot_ns: int | None
    """How long the last boot took, ns; None before the first one, 0 where it takes no time."""
