"""Which hosts are the same machine: two measurements at once on one machine would disturb each other.

`lanes` sorts names of hosts into lanes. Those of one lane are measured one after the other, in the order given;
different lanes at the same time. Two names that ssh leads to one machine are found out afterwards only, by the boot.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

from becalm.hosts import TABLE, aliases, unknown
from becalm.hosts.ssh import address

HERE = "this machine"
"""The lane of everything that runs here: local, guests, simulated machines, null."""

_LOOPBACK = {"localhost", "127.0.0.1", "::1", "ip6-localhost"}


def lanes(names: Sequence[str]) -> dict[str, list[str]]:
    """Names of hosts by machine, in order. Raises UsageError for a name that no host has."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(_machine(name), []).append(name)
    return found


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
