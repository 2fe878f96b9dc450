"""The table of kinds of hosts: one row names the module of each kind."""

from __future__ import annotations

import importlib
from typing import Any

import msgspec


class HostRow(msgspec.Struct, frozen=True):
    """A kind of host: its purpose, and the functions of its module.

    - `opener`: the function of `module` that opens such a host
    - `machine`: the function of `module` that returns the machine of a host from what follows "kind:" in its name;
      empty for a host on this machine

    For the conformance suite:

    - `trials`: names of hosts to try (empty: the fixture `KIND_trial` of the suite makes one)
    - `program`: a program that succeeds there
    - `runs`: where that program runs: "" in the process of the tests, "machine" as a program of its own, "guest" in a
      virtual machine
    """

    kind: str
    what: str
    module: str
    opener: str
    machine: str = ""
    trials: tuple[str, ...] = ()
    program: str = "true"
    runs: str = "machine"

    def function(self, name: str) -> Any:
        """Import the module and return one of its functions."""
        return getattr(importlib.import_module(self.module), name)


TABLE = (
    HostRow("local", "this machine, through the agent", "becalm.hosts.local", "open_local", trials=("local",)),
    HostRow(
        "ssh",
        "another machine: ssh://[user@]name[:port]",
        "becalm.hosts.ssh.host",
        "open_ssh",
        machine="machine_of",
    ),
    HostRow(
        "guest",
        "a virtual machine with its own kernel: guest:6.1?cpus=2",
        "becalm.hosts.guest",
        "open_guest",
        trials=("guest:6.1",),
        runs="guest",
    ),
    HostRow(
        "cluster",
        "a machine of --cluster, while that is open",
        "becalm.hosts.cluster",
        "open_worker",
        machine="machine_of",
    ),
    HostRow(
        "null",
        "runs nothing: measures becalm's own cost",
        "becalm.hosts.null",
        "open_null",
        trials=("null",),
        program="anything",
        runs="",
    ),
    HostRow(
        "sim",
        "a simulated machine: sim:drift, sim:laptop-a, sim:cfs?cpus=2, sim:FILE.toml, … (docs/explanation/methods.md)",
        "becalm.hosts.simulated.host",
        "open_sim",
        trials=("sim:drift:7", "sim:laptop-a:7", "sim:cfs?cpus=4:7", "sim:eevdf?cpus=2&jitter=0.01:7"),
        program="spin 1ms",
        runs="",
    ),
)
