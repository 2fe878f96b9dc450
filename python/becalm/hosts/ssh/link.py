"""The agent's standard input and output on another machine, with signs of life between requests."""

from __future__ import annotations

import contextlib
import subprocess
import threading

from becalm.errors import LostError, MachineError
from becalm.hosts.ssh.connection import FAILED, SshConnection
from becalm.hosts.transport import Patience, ProcessLink

LIFE_SECONDS = 15
"""A sign of life that often: three may get lost before the agent takes us for gone."""


class SshLink(ProcessLink):
    """A link to what ssh has started. `silence_s`: so long the agent waits for a sign of life."""

    def __init__(self, process: subprocess.Popen[bytes], connection: SshConnection, silence_s: int) -> None:
        super().__init__(process)
        self._connection, self._silence_s = connection, silence_s
        self._writing = threading.Lock()
        self._over = threading.Event()
        threading.Thread(target=self._live, name="becalm-ssh", daemon=True).start()

    def _live(self) -> None:
        """Send empty lines, which the agent takes as signs of life, between requests and never within one."""
        while not self._over.wait(LIFE_SECONDS):
            with self._writing, contextlib.suppress(OSError):
                if not self._over.is_set():
                    super().send(b"\n")

    def send(self, line: bytes, patience: Patience = Patience.SOON) -> None:
        """Write it all, between two signs of life."""
        with self._writing:
            super().send(line, patience)

    def interrupt(self, line: bytes) -> None:
        """Write it now: who holds the lock may be the one that is interrupted."""
        ProcessLink.send(self, line)

    def close(self) -> None:
        """Close the agent's input and the connection."""
        self._over.set()
        with self._writing:
            # Whoever gets the lock from now on writes nothing: the descriptor may soon be another file's.
            pass
        super().close()
        self._connection.close()

    def lost(self, host: str) -> MachineError:
        """Return the error that the agent has ended, or only the connection."""
        code = self.process.wait()
        if code != FAILED:
            # Not what the start-up files of the login shell say.
            said = [
                line for line in self._connection.said().splitlines() if line.startswith(("becalm-agent:", "sudo:"))
            ]
            why = f" ({said[-1].rstrip('.')})" if said else ""
            return MachineError(
                f"The agent on {host} ended with exit code {code}{why}. The program it ran was ended with it. "
                "All runs that had arrived are kept."
            )
        return LostError(
            f"The connection to {host} was lost. The agent there ends the program that ran and puts every setting "
            f"back: at once, or after {self._silence_s} s when only the network is gone; where the machine itself went "
            f"down they ended with it. `becalm status --host {host}` tells. All runs that had arrived are kept."
        )
