"""The table of hosts: one row a kind, which names the file that has it."""

from __future__ import annotations

import importlib
from typing import Any

from becalm.values import dataclass


@dataclass(frozen=True, slots=True)
class HostRow:
    """A kind of host: what its names look like, what it is for, and where its file has what.

    `opener`: the function that opens it, of `module`. `machine`: the function there that says which machine a name is
    on, by what follows "kind:"; without one it runs here.

    For its conformance suite: `trials`, names to try it by (none: it needs surroundings, which a fixture `KIND_trial`
    of the suite makes), a `program` that ends well there, and where that runs: "" in the process of the tests,
    "machine" as a program, "guest" in a virtual machine.
    """

    kind: str
    form: str
    what: str
    module: str
    opener: str
    machine: str = ""
    trials: tuple[str, ...] = ()
    program: str = "true"
    runs: str = "machine"

    def function(self, name: str) -> Any:
        """Return a function of its module, which is imported now."""
        return getattr(importlib.import_module(self.module), name)


TABLE = (
    HostRow("local", "local", "this machine, through the agent", "becalm.hosts.local", "open_local", trials=("local",)),
    HostRow(
        "ssh",
        "ssh://[user@]name[:port]",
        "another machine: ssh://[user@]name[:port]",
        "becalm.hosts.ssh.host",
        "open_ssh",
        machine="machine_of",
    ),
    HostRow(
        "guest",
        "guest:KERNEL",
        "a virtual machine with a kernel of its own: guest:6.1?cpus=2",
        "becalm.hosts.guest",
        "open_guest",
        trials=("guest:6.1",),
        runs="guest",
    ),
    HostRow(
        "cluster",
        "cluster:NAME",
        "a machine of --cluster, while that is open",
        "becalm.hosts.cluster",
        "open_worker",
        machine="machine_of",
    ),
    HostRow(
        "null",
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
        "sim:MODEL",
        "a simulated machine: sim:drift, sim:laptop-a, sim:cfs?cpus=2, sim:FILE.toml, … (docs/explanation/methods.md)",
        "becalm.hosts.simulated.host",
        "open_sim",
        trials=("sim:drift:7", "sim:laptop-a:7", "sim:cfs?cpus=4:7", "sim:eevdf?cpus=2&jitter=0.01:7"),
        program="spin 1ms",
        runs="",
    ),
)


def forms() -> str:
    """Return the forms of hosts' names, for help."""
    return ", ".join(row.form for row in TABLE)
