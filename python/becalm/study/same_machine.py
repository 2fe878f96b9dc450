"""The lanes of hosts that are the same machine: two measurements at once on one machine would disturb each other.

`lanes` sorts hosts into lanes, by name. Those of one lane are measured one after the other, in the order given;
different lanes at the same time. Two names that ssh leads to one machine are found out afterwards only, by the boot.
"""

from __future__ import annotations

from collections.abc import Sequence

from becalm.errors import UsageError
from becalm.hosts import Host, which_machine

HERE = "this machine"
"""The lane of everything that runs here: local, guests, simulated machines, null."""


def lanes(hosts: Sequence[str | Host]) -> dict[str, list[str]]:
    """Return names of hosts by machine, in order. Raises UsageError for an unknown name.

    A host that is open already is taken to be on this machine where its name does not tell.
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
