"""The table of hosts: one row a kind, which names the file that has it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of host: the prefix of its name, where its class is, and what it is for."""

    kind: str
    module: str
    opener: str
    what: str


TABLE = (
    Row("local", "becalm.hosts.local", "open_local", "this machine, through the agent"),
    Row("ssh", "becalm.hosts.ssh.host", "open_ssh", "another machine: ssh://[user@]name[:port]"),
    Row("guest", "becalm.hosts.guest", "open_guest", "a virtual machine with a kernel of its own: guest:6.1?cpus=2"),
    Row("cluster", "becalm.hosts.cluster", "open_worker", "a machine of --cluster, while that is open"),
    Row("null", "becalm.hosts.null", "open_null", "runs nothing: measures becalm's own cost"),
    Row(
        "sim",
        "becalm.hosts.simulated.host",
        "open_sim",
        "a simulated machine: sim:drift, sim:laptop-a, sim:FILE.toml, … (docs/explanation/methods.md)",
    ),
)
