"""The methods that hosts without a machine (`null`, `sim`) refuse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn

from becalm.errors import UsageError
from becalm.hosts.abilities import Abilities, Ability, Can, refused
from becalm.hosts.applied_settings import AppliedSettings, Planned
from becalm.hosts.boot_entry import BootEntryHost
from becalm.hosts.protocol import Parameters
from becalm.hosts.running_load import RunningLoad
from becalm.load.live import Reading
from becalm.nouns.demand import Demand
from becalm.nouns.settings import Settings
from becalm.nouns.workload import AGENT, Workload
from becalm.results.settings import Reset, Status

if TYPE_CHECKING:
    from becalm.hosts.recorded import RecordEvent, Recording


class NoMachine:
    """A base of hosts without a machine. A kind passes its name and the reason why there is no machine."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._abilities = dict.fromkeys(Ability, Can(False, reason, "use `local`, which is this machine"))
        self.boot_ns: int | None = None

    def abilities(self) -> Abilities:
        """Return the abilities, which are missing unless a kind adds them."""
        return self._abilities

    def _refuse(self, ability: Ability) -> NoReturn:
        raise refused(self.name, self.abilities(), ability)

    def user(self) -> str:
        """Return the empty string, as no user runs programs here."""
        return ""

    def plan(self, settings: Settings, *, dangerous: bool = False) -> Planned:
        """Refuse to plan."""
        self._refuse(Ability.HOLD)

    def hold(self, settings: Settings, *, dangerous: bool = False) -> AbstractContextManager[AppliedSettings]:
        """Refuse to hold settings."""
        self._refuse(Ability.HOLD)

    def keep(self, settings: Settings, *, dangerous: bool = False) -> AppliedSettings:
        """Refuse to keep settings."""
        self._refuse(Ability.KEEP)

    def restore(self, *, force: bool = False, mine: bool = False) -> Reset:
        """Refuse to restore."""
        self._refuse(Ability.KEEP)

    def status(self) -> Status:
        """Refuse to report a status."""
        self._refuse(Ability.KEEP)

    def read(self, *, consumers: int = 0) -> Reading:
        """Refuse to read load."""
        self._refuse(Ability.READ_LOAD)

    def follow(self, pid: int, period_ns: int, *, consumers: int = 0) -> Iterator[tuple[dict[str, Any], Reading]]:
        """Refuse to follow a process."""
        self._refuse(Ability.FOLLOW)

    def record(
        self, recording: Recording, pid: int | None = None, *, started: int | None = None
    ) -> Iterator[RecordEvent]:
        """Refuse to record."""
        self._refuse(Ability.FOLLOW)

    def reboot(self, parameters: Parameters) -> None:
        """Refuse to restart."""
        self._refuse(Ability.REBOOT)

    def boot_entry(self) -> BootEntryHost:
        """Refuse to offer a boot entry."""
        self._refuse(Ability.BOOT_ENTRY)

    def loading(self, demand: Demand) -> AbstractContextManager[RunningLoad]:
        """Refuse to make load."""
        self._refuse(Ability.LOADED)

    def settle(self) -> None:
        """Do nothing, as no settings were changed."""

    def stop(self) -> None:
        """Do nothing, as blocks take no real time here."""

    def close(self) -> None:
        """Do nothing, as there is nothing to end."""


def refuse_kernels(host: str, workloads: Iterable[Workload]) -> None:
    """Raise UsageError for a built-in kernel on a host without caches."""
    for workload in workloads:
        if workload.argv[:2] == (AGENT, "kernel"):
            raise UsageError(
                f"{host} has no caches and no memory, so {workload.name} would have no effect there. "
                "Name another --host: the built-in kernels run wherever programs do."
            )


def refuse_metrics(host: str, workloads: Iterable[Workload]) -> None:
    """Raise UsageError for a program with a metric or neighbours on a host that runs no programs."""
    for workload in workloads:
        if workload.alongside:
            raise UsageError(
                f"{host} runs no program, so {workload.alongside[0].workload.name!r} cannot run next to one. Name "
                "another "
                "--host, or leave --alongside out."
            )
        if workload.metrics:
            raise UsageError(
                f"{host} runs no program, so there is no output from which to read {workload.metrics[0].name!r}. "
                "Leave --metric out, or name another --host."
            )
