"""Which hosts are the same machine: two measurements at once on one machine would disturb each other.

`lanes` sorts names of hosts into lanes. Those of one lane are measured one after the other, in the order given;
different lanes at the same time. Two names that ssh leads to one machine are found out afterwards only, by the boot.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

from becalm.errors import UsageError
from becalm.hosts import TABLE, Host, aliases, unknown
from becalm.hosts.ssh import address

HERE = "this machine"
"""The lane of everything that runs here: local, guests, simulated machines, null."""

_LOOPBACK = {"localhost", "127.0.0.1", "::1", "ip6-localhost"}


def lanes(hosts: Sequence[str | Host]) -> dict[str, list[str]]:
    """Names of hosts by machine, in order. Raises UsageError for a name that no host has.

    Hosts that are open already are taken to be this machine, where the name does not tell.
    """
    found: dict[str, list[str]] = {}
    for each in hosts:
        name = each if isinstance(each, str) else each.name
        found.setdefault(_machine(name) if isinstance(each, str) else _of_open(name), []).append(name)
    return found


def _of_open(name: str) -> str:
    try:
        return _machine(name)
    except UsageError:
        return HERE


def _machine(name: str) -> str:
    kind, _, rest = name.partition(":")
    if kind == "ssh":
        there = address.parse(f"ssh:{rest}", None).name
        return HERE if there in _LOOPBACK or there == socket.gethostname() else there
    if kind == "cluster":
        from becalm.hosts.cluster import machine_of

        return machine_of(rest) or HERE
    if kind in {row.kind for row in TABLE}:
        return HERE
    if name in aliases.names():
        return _machine(aliases.find(name).url)
    raise unknown(name)
