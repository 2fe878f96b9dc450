"""`becalm host check`: connect to a machine and say what it allows. Names are kept by `becalm.hosts.aliases`."""

from __future__ import annotations

from dataclasses import dataclass

from becalm import hosts
from becalm._version import VERSION
from becalm.errors import UsageError
from becalm.hosts import Access
from becalm.hosts.agent import AgentHost


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
        if not isinstance(machine, AgentHost):
            raise UsageError(f"{name!r} is no other machine: there is nothing to check.")
        host = machine.facts()["host"]
        supported = sum(row.supported for row in machine.knobs())
        user = machine.user.get("name") or f"user {machine.user['uid']}"
        release = (machine.facts().get("kernel") or {}).get("release") or "of an unknown version"
        return Checked(machine.name, host["hostname"], release, user, machine.privileged, supported)
