"""The lanes of hosts: two measurements at the same time on one machine would disturb each other.

`lanes` sorts hosts into lanes by name. The hosts of a lane are measured one after the other, in order; different lanes
are measured at the same time. Two ssh names of one machine are only detected afterwards, by its boot.
"""

from __future__ import annotations

from collections.abc import Sequence

from becalm.errors import UsageError
from becalm.hosts import Host, which_machine

HERE = "this machine"
"""The lane of all hosts on this machine: local, guests, simulated machines, null."""


def lanes(hosts: Sequence[str | Host]) -> dict[str, list[str]]:
    """Return the names of hosts by machine, in order. Raises UsageError for an unknown name.

    An open host whose name does not tell its machine counts as on this machine.
    """
    result: dict[str, list[str]] = {}
    for host in hosts:
        name = host if isinstance(host, str) else host.name
        try:
            machine = which_machine(name)
        except UsageError:
            if isinstance(host, str):
                raise
            machine = None
        result.setdefault(machine or HERE, []).append(name)
    return result
