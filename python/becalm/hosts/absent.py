"""The refusals of hosts without a machine (`null`, `sim`), once for all of that kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn

from becalm.errors import UsageError
from becalm.hosts.abilities import Abilities, Ability, Can, refused
from becalm.hosts.beside import LoadBeside
from becalm.hosts.boot_entry import BootEntryHost
from becalm.hosts.held import Planned, PutOn
from becalm.hosts.protocol import Parameters
from becalm.load.live import Reading
from becalm.nouns.demand import Demand
from becalm.nouns.settings import Settings
from becalm.nouns.workload import AGENT, Workload
from becalm.results.settings import Reset, Status

if TYPE_CHECKING:
    from becalm.hosts.recorded import RecordEvent, Recording


class NoMachine:
    """The part of a Host that is about a machine, where there is none. A kind gives its name and why there is none."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self._abilities = dict.fromkeys(Ability, Can(False, why, "use `local`, which is this machine"))
        self.boot_ns: int | None = None

    def abilities(self) -> Abilities:
        """Return the abilities, none of which needs a machine."""
        return self._abilities

    def _refuse(self, ability: Ability) -> NoReturn:
        raise refused(self.name, self.abilities(), ability)

    def user(self) -> str:
        """Return the empty string, as no user runs programs here."""
        return ""

    def plan(self, settings: Settings, *, dangerous: bool = False) -> Planned:
        """Refuse to plan."""
        self._refuse(Ability.HOLD)

    def hold(self, settings: Settings, *, dangerous: bool = False) -> AbstractContextManager[PutOn]:
        """Refuse to hold settings."""
        self._refuse(Ability.HOLD)

    def keep(self, settings: Settings, *, dangerous: bool = False) -> PutOn:
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

    def loading(self, demand: Demand) -> AbstractContextManager[LoadBeside]:
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
                f"{host} has no caches and no memory, so {workload.name} does nothing on it that it is known for. "
                "Name another --host: the built-in kernels run wherever programs do."
            )


def refuse_metrics(host: str, workloads: Iterable[Workload]) -> None:
    """Raise UsageError for a program with a metric or neighbours, on a host that runs no programs."""
    for workload in workloads:
        if workload.beside:
            raise UsageError(
                f"{host} runs no program, so {workload.beside[0].workload.name!r} cannot run beside one. Name another "
                "--host, or measure without programs beside (--beside)."
            )
        if workload.metrics:
            raise UsageError(
                f"{host} runs no program, so nothing is printed that {workload.metrics[0].name!r} could be read from. "
                "Leave --metric out, or name another --host."
            )
