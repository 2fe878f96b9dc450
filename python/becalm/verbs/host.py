"""`becalm host add`, `remove`, `list`, `check`: names for other machines, and whether these answer."""

from __future__ import annotations

from becalm import hosts
from becalm._version import VERSION
from becalm.errors import UsageError
from becalm.hosts import Ability, Access, aliases
from becalm.hosts.aliases import NamedMachine
from becalm.nouns.result import Result


class HostCheck(Result, frozen=True):
    """The answer of a machine. `user`: the user who runs programs there; `settings`: the number that can be set."""

    KIND = "host"

    host: str
    hostname: str
    kernel: str
    user: str
    privileged: bool
    settings: int
    agent: str = VERSION

    @property
    def sentence(self) -> str:
        """The sentence about the answer."""
        rights = (
            f"{self.settings} settings can be changed"
            if self.privileged
            else "settings of the machine itself cannot be changed (as root they can: --sudo)"
        )
        return (
            f"{self.host} answers: {self.hostname}, Linux {self.kernel}. Its agent {self.agent} is in place, programs "
            f"run as {self.user}, and {rights}."
        )


def add_host(name: str, url: str, *, ssh_config: str | None = None) -> NamedMachine:
    """Give the machine at `url`, ssh://[user@]name[:port], a name. Does not connect.

    `ssh_config`: a configuration file for ssh instead of the usual one. Raises UsageError, MachineError.
    """
    return aliases.add(name, url, ssh_config)


def remove_host(name: str) -> NamedMachine:
    """Forget a name; nothing on that machine changes. Raises UsageError for an unknown name."""
    return aliases.remove(name)


def list_hosts() -> list[NamedMachine]:
    """Return the machines that have names."""
    return [aliases.find(name) for name in aliases.names()]


def check_host(name: str, *, sudo: bool = False) -> HostCheck:
    """Connect to a machine, by its name or URL, and start the agent there. Raises UsageError, MachineError."""
    with hosts.open(name, Access(sudo=sudo, title="becalm host check")) as machine:
        able = machine.abilities()
        if not able[Ability.HOLD]:
            raise UsageError(f"{name!r} is not another machine: there is nothing to check.")
        facts, supported = machine.facts(), sum(row.supported for row in machine.knobs())
        release = (facts.get("kernel") or {}).get("release") or "of an unknown version"
        rights = bool(able[Ability.MACHINE_SETTINGS])
        return HostCheck(machine.name, facts["host"]["hostname"], release, machine.user(), rights, supported)
