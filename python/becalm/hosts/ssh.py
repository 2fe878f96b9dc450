"""The host `ssh://[user@]name[:port]`: another machine, through the agent that is copied there (docs/remote.md)."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from typing import Any

from becalm.errors import MachineError
from becalm.hosts import Access, address, installing
from becalm.hosts.agent import AgentHost, Surroundings, agent_path
from becalm.hosts.connection import FAILED, Connection
from becalm.hosts.link import ProcessLink

SILENCE_SECONDS = 60
"""The agent puts everything back when nothing has come for so long: who has gone closes no input when the network is
cut, and a server's own TCP keepalive (tcp_keepalive_time) waits two hours."""

LIFE_SECONDS = 15
"""A sign of life that often: three may get lost."""


def open_ssh(rest: str, access: Access) -> AgentHost:
    """Connect, have the agent there, and start it. `rest` is what follows "ssh:". Raises UsageError, MachineError."""
    place = address.parse(f"ssh:{rest}", access.config)
    lines = installing.start_lines(access)
    agent = installing.Carried.read(agent_path())
    connection = Connection(place)
    try:
        there = installing.look(connection, agent)
        installing.install(connection, agent, there)
        through_sudo = access.sudo and there.uid != 0
        if through_sudo:
            installing.check_sudo(connection, agent, there)
        start = {"sudo": "sudo -n -- " if through_sudo else "", "silence": str(SILENCE_SECONDS)}
        process = connection.start(agent.script(installing.START, **start))
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(lines)
            process.stdin.flush()
        return SshHost(connection, process, access, Surroundings(there.environment, there.directory))
    except BaseException:
        connection.close()
        raise


class SshHost(AgentHost):
    """A machine reached through ssh. Programs have its environment, and begin in the home directory there."""

    def __init__(
        self,
        connection: Connection,
        process: subprocess.Popen[bytes],
        access: Access,
        surroundings: Surroundings,
    ) -> None:
        self._connection, self._process = connection, process
        self._writing = threading.Lock()
        self._over = threading.Event()
        super().__init__(access.called or str(connection.address), ProcessLink(process), access, surroundings)
        connection.seclude()
        threading.Thread(target=self._live, name="becalm-ssh", daemon=True).start()

    def close(self) -> None:
        """End the agent, which puts everything back, and the connection."""
        self._over.set()
        with self._writing:
            # Whoever gets the lock from now on writes nothing: the descriptor may soon be another file's.
            pass
        super().close()
        self._connection.close()

    def _live(self) -> None:
        """Send empty lines, which the agent takes as signs of life, between requests and never within one."""
        while not self._over.wait(LIFE_SECONDS):
            with self._writing, contextlib.suppress(OSError, ValueError):
                if not self._over.is_set():
                    self._link.send(b"\n")

    def _send(self, request: dict[str, Any]) -> int:
        with self._writing:
            return super()._send(request)

    def _died(self) -> MachineError:
        code = self._process.wait()
        if code != FAILED:
            # Not what the start-up files of the login shell say.
            said = [
                line for line in self._connection.said().splitlines() if line.startswith(("becalm-agent:", "sudo:"))
            ]
            why = f" ({said[-1].rstrip('.')})" if said else ""
            return MachineError(
                f"The agent on {self.name} ended with exit code {code}{why}. The program it ran was ended with it. "
                "All runs that had arrived are kept."
            )
        return MachineError(
            f"The connection to {self.name} was lost. The agent there ends the program that ran and puts every "
            f"setting back: at once, or after {SILENCE_SECONDS} s when only the network is gone; `becalm status --host "
            f"{self.name}` tells. All runs that had arrived are kept."
        )
