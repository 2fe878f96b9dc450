"""Hosts that wrap another host, to which they forward every call.

A kind of wrapper overrides what it does differently. Methods are written out, so that a type checker sees missing ones.
`BorrowedHost` is a host that somebody else has opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from becalm.errors import UsageError
from becalm.hosts.abilities import Abilities, with_abilities
from becalm.hosts.applied_settings import AppliedSettings, Planned
from becalm.hosts.boot_entry import BootEntryHost
from becalm.hosts.events import Event
from becalm.hosts.protocol import Access, Host, MeasureRequest, Parameters
from becalm.hosts.running_load import RunningLoad
from becalm.load.live import Reading
from becalm.nouns.demand import Demand
from becalm.nouns.knob import Knob
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.settings import Reset, Status

if TYPE_CHECKING:
    from becalm.hosts.recorded import RecordEvent, Recording

Inner = TypeVar("Inner", bound=Host)


class Wrapper(Generic[Inner]):
    """A host around another host, `inner`; closing it closes that."""

    def __init__(self, inner: Inner) -> None:
        self._inner = inner

    @property
    def inner(self) -> Inner:
        """The wrapped host."""
        return self._inner

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The name of the wrapped host."""
        return self.inner.name

    @property
    def boot_ns(self) -> int | None:
        """The time of the last boot, ns."""
        return self.inner.boot_ns

    def abilities(self) -> Abilities:
        """Return the abilities."""
        return self.inner.abilities()

    def facts(self) -> dict[str, Any]:
        """Return the facts of the machine, with the abilities of this host instead of those of the wrapped one."""
        return with_abilities(self.inner.facts(), self.abilities())

    def user(self) -> str:
        """Return the user that programs run as."""
        return self.inner.user()

    def knobs(self) -> list[Knob]:
        """Return the settings."""
        return self.inner.knobs()

    def plan(self, settings: Settings, *, dangerous: bool = False) -> Planned:
        """Return the changes that settings would make."""
        return self.inner.plan(settings, dangerous=dangerous)

    def hold(self, settings: Settings, *, dangerous: bool = False) -> AbstractContextManager[AppliedSettings]:
        """Apply settings for as long as the context lasts."""
        return self.inner.hold(settings, dangerous=dangerous)

    def keep(self, settings: Settings, *, dangerous: bool = False) -> AppliedSettings:
        """Apply settings until `restore`."""
        return self.inner.keep(settings, dangerous=dangerous)

    def restore(self, *, force: bool = False, mine: bool = False) -> Reset:
        """Restore what an earlier becalm kept or left."""
        return self.inner.restore(force=force, mine=mine)

    def status(self) -> Status:
        """Return the settings that are applied, who applied them and when."""
        return self.inner.status()

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Define workloads and settings."""
        return self.inner.define(workloads, settings, dangerous=dangerous)

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Run the steps, and yield events."""
        return self.inner.measure(request)

    def settle(self) -> None:
        """Restore all applied settings."""
        self.inner.settle()

    def read(self, *, consumers: int = 0) -> Reading:
        """Return the reading of the machine's load since the previous reading."""
        return self.inner.read(consumers=consumers)

    def follow(self, pid: int, period_ns: int, *, consumers: int = 0) -> Iterator[tuple[dict[str, Any], Reading]]:
        """Yield the readings of a running process."""
        return self.inner.follow(pid, period_ns, consumers=consumers)

    def record(
        self, recording: Recording, pid: int | None = None, *, started: int | None = None
    ) -> Iterator[RecordEvent]:
        """Yield which task runs when, with two counters per CPU."""
        return self.inner.record(recording, pid, started=started)

    def reboot(self, parameters: Parameters) -> None:
        """Restart the machine."""
        self.inner.reboot(parameters)

    def boot_entry(self) -> BootEntryHost:
        """Return the machine's boot loader, for settings that stay."""
        return self.inner.boot_entry()

    def loading(self, demand: Demand) -> AbstractContextManager[RunningLoad]:
        """Make known load next to programs."""
        return self.inner.loading(demand)

    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """Return the times of an empty program, ns."""
        return self.inner.overhead(runs)

    def stop(self) -> None:
        """End the current request."""
        self.inner.stop()

    def close(self) -> None:
        """Close the wrapped host."""
        self.inner.close()


class BorrowedHost(Wrapper[Host]):
    """A host that somebody else has opened and closes; closing this only restores settings.

    Raises UsageError for an `access` that differs from the usual one, because the host is open already.
    """

    def __init__(self, inner: Host, access: Access | None = None) -> None:
        super().__init__(inner)
        access, usual = access or Access(), Access()
        for field, option in (("user", "user"), ("sudo", "sudo"), ("root", "root"), ("reboot", "allow_reboot")):
            if getattr(access, field) != getattr(usual, field):
                raise UsageError(
                    f"{inner.name} is open already, so {option} comes too late: give it to becalm.hosts.open."
                )

    def close(self) -> None:
        """Restore all applied settings."""
        self.inner.settle()
