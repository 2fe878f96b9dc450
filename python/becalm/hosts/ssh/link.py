"""The link to an agent on another machine, with keep-alive lines between requests."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable

from becalm.errors import LostError, MachineError
from becalm.hosts.ssh.connection import FAILED, SshConnection
from becalm.hosts.transport import Patience, ProcessLink

LIFE_SECONDS = 15
"""The time between two keep-alive lines, s: three may be lost before the agent considers becalm gone."""


class SshLink(ProcessLink):
    """A link to a script that ssh has started.

    `silence_s`: the silence after which the agent ends. `undo`: what removes the traces of an agent that did not begin
    (`begin`), over the same connection; it may raise MachineError.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        connection: SshConnection,
        silence_s: int,
        undo: Callable[[], object],
    ) -> None:
        super().__init__(process)
        self._connection, self._silence_s = connection, silence_s
        self._undo: Callable[[], object] | None = undo
        self._writing = threading.Lock()
        self._over = threading.Event()
        threading.Thread(target=self._live, name="becalm-ssh", daemon=True).start()

    def _live(self) -> None:
        """Send empty lines between requests, which tell the agent that becalm is alive."""
        while not self._over.wait(LIFE_SECONDS):
            with self._writing, contextlib.suppress(OSError):
                if not self._over.is_set():
                    super().send(b"\n")

    def send(self, line: bytes, patience: Patience = Patience.SOON) -> None:
        """Write a whole line, between two keep-alive lines."""
        with self._writing:
            super().send(line, patience)

    def interrupt(self, line: bytes) -> None:
        """Write without the lock, which the interrupted thread may hold."""
        ProcessLink.send(self, line)

    def begin(self) -> None:
        """Keep from now on what the agent has there: it removes it itself."""
        self._undo = None

    def close(self) -> None:
        """Close the agent's input and the connection."""
        self._over.set()
        with self._writing:
            # From now on no thread writes: the descriptor may soon belong to another file.
            pass
        undo, self._undo = self._undo, None
        # A second Ctrl-C may end the wait for the agent.
        try:
            super().close()
            if undo is not None:
                with contextlib.suppress(MachineError):
                    undo()
        finally:
            self._connection.close()

    def lost(self, host: str) -> MachineError:
        """Return the error for an agent that has ended, or for a lost connection."""
        code = self.process.wait()
        if code != FAILED:
            # Messages of the login shell's start-up files are left out.
            lines = [
                line for line in self._connection.messages().splitlines() if line.startswith(("becalm-agent:", "sudo:"))
            ]
            why = f" ({lines[-1].rstrip('.')})" if lines else ""
            return MachineError(
                f"The agent on {host} ended with exit code {code}{why}. The program it ran was ended with it. "
                "All runs that had arrived are stored."
            )
        return LostError(
            f"The connection to {host} was lost. The agent there ends the program that ran and restores every "
            f"setting: at once, or after {self._silence_s} s if only the network is gone; where the machine went "
            f"down they ended with it. `becalm status --host {host}` reports it. All runs that had arrived are stored."
        )
