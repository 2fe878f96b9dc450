"""Hosts: where a workload runs. One table, one interface, one file per kind.

`open` turns a name as `--host` takes it ("local", "null", "sim:drift") into a Host. All hosts answer the same
calls; what one cannot do is data in its `facts()`, with the reason and a way out. The conformance suite in
`tests/conformance/test_hosts.py` runs over the table.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from becalm.errors import UsageError
from becalm.load.record import LoadSink
from becalm.nouns.knob import Knob
from becalm.nouns.run import Block, Run
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

TextSink = Callable[[int, str, str], None]
"""Called with a run's sequence number, the tail of its standard error and its kept standard output."""


class Host(AbstractContextManager["Host"], Protocol):
    """Runs blocks of steps. Used as a context manager: leaving it ends everything that it started."""

    name: str
    privileged: bool
    """Whether settings of the machine itself can be changed."""
    reboots: bool
    """Whether settings of the next boot can be tried."""

    def facts(self) -> dict[str, Any]:
        """What the host is and allows; everything missing has a reason."""
        ...

    def knobs(self) -> list[Knob]:
        """The settings there are, each with its present value or the reason why it is not supported."""
        ...

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Make the workloads and settings known; returns the absolute path of each program.

        Settings that no step will name until the next call may be None. `dangerous`: the person consents to settings
        that can make the machine slow, hot or hard to reach. Raises WorkloadError when a program cannot be run,
        UsageError for an unknown or unsuitable setting.
        """
        ...

    def measure(
        self,
        first: int,
        block: Block,
        *,
        on_text: TextSink | None = None,
        on_load: LoadSink | None = None,
        load: str = "totals",
        stop_on_failure: bool = True,
    ) -> Iterator[list[Run]]:
        """Run the steps in order, numbering them from `first`; yields finished runs in batches.

        The settings of a step are on before it runs. `noticed` tells afterwards what somebody else has changed.
        `on_load` is given what else the machine did, after the runs it belongs to; a host may know nothing of that.
        `load`: "totals", or "series" for samples over time as well.
        """
        ...

    def noticed(self) -> Noticed:
        """What the last block showed of its settings."""
        ...

    def settle(self) -> None:
        """Put everything back that was set. Raises UnsettledError when something is not as it was before."""
        ...

    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """Cost in ns of starting and waiting for an empty program: bare, and with all that becalm adds."""
        ...

    def stop(self) -> None:
        """End the block that is being measured; safe to call from a signal handler."""
        ...

    def close(self) -> None:
        """End the host and everything it started."""
        ...


@runtime_checkable
class Reboots(Protocol):
    """What a Host with `reboots` can do besides."""

    boot_ns: int | None
    """How long the last boot took, ns; None before the first one, 0 where it takes no time."""

    def fresh_boot(self) -> None:
        """Have the next steps on a boot of their own, even if the one before had the same settings."""
        ...


@dataclass(frozen=True, slots=True)
class Noticed:
    """Of the settings of a block: sentences on what was put on, and places that somebody else changed meanwhile.

    `switching_ns`: time spent putting settings on and off, ns. `unknown`: why columns of the loads (`becalm.load`), or
    parts of what could be known, were unknown, by name.
    """

    remarks: tuple[str, ...] = ()
    drift: tuple[Mapping[str, str], ...] = ()
    switching_ns: int = 0
    unknown: Mapping[str, str] = field(default_factory=dict)


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


def _nobody(sentence: str) -> None:
    """Where nobody listens."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach the machine: as which user the workload runs, and whether the agent is started through sudo.

    `spool` is the descriptor of a file that takes finished runs at once (docs/reference/protocol.md). `root`: act on a
    directory that looks like `/` instead of the machine. `title`: what for, as others who find the machine changed will
    read it. `config`: a configuration file for ssh instead of the person's usual one. `called`: the name that was given
    for the machine, when it is not its address. `reboot`: the person consents to restarts of the machine. `say`: takes
    sentences for the person while something takes long: a connection that was lost, a restart.
    """

    user: str | None = None
    sudo: bool = False
    spool: int | None = None
    root: str | None = None
    title: str = ""
    config: str | None = None
    called: str | None = None
    reboot: bool = False
    say: Callable[[str], None] = _nobody


def open(name: str = "local", access: Access | None = None) -> Host:
    """Open a host by its name. Raises UsageError for an unknown kind, MachineError when it cannot be reached."""
    kind, _, rest = name.partition(":")
    for row in TABLE:
        if row.kind == kind:
            opener: Callable[[str, Access], Host] = getattr(importlib.import_module(row.module), row.opener)
            return opener(rest, access or Access())
    from becalm.hosts import aliases

    if name in aliases.names():
        found = aliases.find(name)
        return open(found.url, replace(access or Access(), config=found.config, called=name))
    raise unknown(name)


def unknown(name: str) -> UsageError:
    """What to say of a name that no host has."""
    from becalm.hosts import aliases

    kind = name.partition(":")[0]
    near = difflib.get_close_matches(kind, [*(row.kind for row in TABLE), *aliases.names()], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    kinds = "; ".join(f"{row.kind}: {row.what}" for row in TABLE)
    return UsageError(
        f"There is no host of the kind {kind!r}.{hint} Known kinds: {kinds}; and names that `becalm host add` gives."
    )
