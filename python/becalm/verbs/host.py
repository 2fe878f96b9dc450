"""`becalm host check`: connect to a machine and say what it allows. Names are kept by `becalm.hosts.aliases`."""

from __future__ import annotations

from dataclasses import dataclass

from becalm import hosts
from becalm._version import VERSION
from becalm.errors import UsageError
from becalm.hosts import Ability, Access


@dataclass(frozen=True, slots=True)
class Checked:
    """What a machine answered. `user`: as whom programs run there; `settings`: how many it has that becalm can set."""

    host: str
    hostname: str
    kernel: str
    user: str
    privileged: bool
    settings: int
    agent: str = VERSION

    @property
    def sentence(self) -> str:
        """For the person."""
        rights = (
            f"{self.settings} settings can be changed"
            if self.privileged
            else "settings of the machine itself cannot be changed (as root they can: --sudo)"
        )
        return (
            f"{self.host} answers: {self.hostname}, Linux {self.kernel}. Its agent {self.agent} is in place, programs "
            f"run as {self.user}, and {rights}."
        )


def check(name: str, *, sudo: bool = False) -> Checked:
    """Connect to a machine, have the agent there, and ask it. Raises UsageError, MachineError."""
    with hosts.open(name, Access(sudo=sudo, title="becalm host check")) as machine:
        able = machine.abilities()
        if not able[Ability.HOLD]:
            raise UsageError(f"{name!r} is not another machine: there is nothing to check.")
        facts, supported = machine.facts(), sum(row.supported for row in machine.knobs())
        release = (facts.get("kernel") or {}).get("release") or "of an unknown version"
        rights = bool(able[Ability.MACHINE_SETTINGS])
        return Checked(machine.name, facts["host"]["hostname"], release, machine.user(), rights, supported)
