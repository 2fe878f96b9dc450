"""Connecting to an agent on another machine: when the host is opened, after a lost connection, and after a restart.

`Route.reach` returns a `Connected`: a connection with a running agent at its end. If an earlier agent is named
(`PreviousAgent`), it waits until that has ended, so that there are never two of them, and fetches its finished runs.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import subprocess
from collections.abc import Iterator
from typing import Any

import msgspec

from becalm.errors import LostError
from becalm.hosts.agent import Surroundings, agent_path
from becalm.hosts.answer_errors import answer_check
from becalm.hosts.protocol import Access, Left
from becalm.hosts.ssh import install as installing
from becalm.hosts.ssh.address import Address, parse
from becalm.hosts.ssh.connection import SshConnection
from becalm.nouns.elsewhere import Place

SILENCE_SECONDS = 60
"""The silence after which the agent restores everything, s. When the network is cut its input is not closed, and the
server's TCP keepalive (tcp_keepalive_time) waits two hours."""

_BOOT, _SPOOL = re.compile(r"[0-9a-f-]{36}"), re.compile(re.escape(installing.SPOOL) + "[0-9a-f]{16}")

ENDING_SECONDS = SILENCE_SECONDS + 30
"""The time in which an agent without a connection ends, s: it has to notice that, and to restore everything."""


class PreviousAgent(msgspec.Struct, frozen=True):
    """An agent whose connection was lost: its process id, the id of the boot, and the name of its spool."""

    pid: int
    boot_id: str
    spool: str

    def place(self, address: Address) -> dict[str, Any]:
        """Return the place of the agent, for the next becalm after one that was killed."""
        about = {"pid": self.pid, "boot_id": self.boot_id, "spool": self.spool}
        return {"host": str(address), "config": address.config, **about}

    @classmethod
    def at(cls, place: Place, address: Address) -> PreviousAgent | None:
        """Return the agent that a killed becalm has left at this address; None if its place is another one."""
        pid, boot_id, spool = (place.get(name) for name in ("pid", "boot_id", "spool"))
        if (place.get("host"), place.get("config")) != (str(address), address.config):
            return None
        # These become part of a shell command, so they are checked.
        if not (isinstance(pid, int) and _BOOT.fullmatch(str(boot_id)) and _SPOOL.fullmatch(str(spool))):
            return None
        return cls(pid, str(boot_id), str(spool))


class Connected(msgspec.Struct, frozen=True):
    """An agent that has been started.

    `unfetched`: lines of finished runs that the previous agent had not sent; they stay in its spool, `former`, until
    `forget`.
    """

    connection: SshConnection
    process: subprocess.Popen[bytes]
    surroundings: Surroundings
    spool: str
    unfetched: bytes = b""
    former: str | None = None

    def discard(self) -> None:
        """Remove the spool of this agent, which has not begun. Raises LostError."""
        _forget(self.connection, self.spool)

    def forget(self) -> None:
        """Remove the spool of the previous agent, after its runs were stored here."""
        if self.former is not None:
            _forget(self.connection, self.former)

    def rows(self) -> Iterator[list[Any]]:
        """Yield the rows of the finished runs (docs/reference/protocol.md), up to a line that was cut off."""
        for line in self.unfetched.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                return
            with answer_check(self.connection.address.name):
                event = json.loads(line)
                if event["event"] == "runs":
                    yield from event["rows"]


class Route(msgspec.Struct, frozen=True):
    """The address of a machine, the access to it, and the agent to run there."""

    address: Address
    access: Access
    agent: installing.AgentBinary

    @classmethod
    def to(cls, rest: str, access: Access) -> Route:
        """Return the route to what follows "ssh:" in a host's name. Raises UsageError."""
        return cls(parse(f"ssh:{rest}", access.config), access, installing.AgentBinary.read(agent_path()))

    def reach(self, former: PreviousAgent | None = None, *, restarting: bool = False) -> Connected:
        """Connect, copy the agent if it is not there, and start it.

        `restarting`: the machine is expected on another boot than that of `former`. Raises LostError if the machine
        cannot be reached or is still on that boot, MachineError if the agent cannot be copied or started, UsageError.
        """
        lines = installing.start_lines(self.access)
        # Nobody may be there to answer after a restart, so nobody is asked from the beginning.
        connection = SshConnection(self.address, alone=former is not None or self.access.reboot)
        try:
            unfetched = b"" if former is None else _ended(connection, former, restarting)
            for left in self.access.left if former is None else ():
                self._fetch(connection, left)
            there = installing.look(connection, self.agent)
            installing.install(connection, self.agent, there)
            root = installing.RootWords()
            if self.access.sudo and there.uid != 0:
                root = installing.check_sudo(connection, self.agent, there, restarts=self.access.reboot)
            spool = f"{installing.SPOOL}{secrets.token_hex(8)}"
            words = {"sudo": root.sudo, "helper": root.helper, "silence": str(SILENCE_SECONDS), "spool": spool}
            process = connection.start(self.agent.script(installing.START, **words))
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(lines)
                process.stdin.flush()
            return Connected(
                connection,
                process,
                Surroundings(there.environment, there.directory),
                spool,
                unfetched,
                None if former is None else former.spool,
            )
        except BaseException:
            connection.close()
            raise

    def _fetch(self, connection: SshConnection, left: Left) -> None:
        """Fetch finished runs of an agent here whose becalm was killed. Raises LostError."""
        agent = PreviousAgent.at(left.place, self.address)
        if agent is None:
            return
        left.take(_ended(connection, agent, restarting=False))
        _forget(connection, agent.spool)


def _forget(connection: SshConnection, spool: str) -> None:
    """Remove a spool there."""
    connection.ask(installing.FORGET.format(spool=spool))


def _ended(connection: SshConnection, former: PreviousAgent, restarting: bool) -> bytes:
    """Wait for the end of the former agent; return its finished runs. Raises LostError if it, or its boot, goes on."""
    name = connection.address.name
    words = {"boot": former.boot_id, "pid": former.pid, "spool": former.spool}
    seconds = 0 if restarting else ENDING_SECONDS
    answer = connection.ask(installing.FORMER.format(**words, seconds=seconds))
    boot_id, _, result = answer.out.partition(b"\n")
    if restarting and boot_id.decode(errors="replace") == former.boot_id:
        raise LostError(f"{name} is still up and has not restarted.")
    if answer.code == installing.NOT_ENDED:
        raise LostError(f"becalm's earlier agent on {name} (process {former.pid}) has not ended.")
    return result
