"""The pair of byte streams to an agent: what `AgentHost` needs of a pipe, a connection or a serial line."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
from enum import Enum
from typing import Protocol

from becalm.errors import MachineError


class Patience(Enum):
    """How long the answer to a request may take."""

    SOON = "soon"
    PROGRAMS = "programs"
    """As long as programs do, whom nobody may hurry; the agent answers questions meanwhile."""
    LONG = "long"


class Link(Protocol):
    """Lines to an agent and back."""

    def send(self, line: bytes, patience: Patience = Patience.SOON) -> None:
        """Send a whole line, a request. Raises BrokenPipeError when nobody reads any more."""
        ...

    def interrupt(self, line: bytes) -> None:
        """Send a line from a signal handler or another thread, while somebody may be reading. Raises OSError."""
        ...

    def read(self) -> bytes:
        """The next line with its end; without its end, or nothing, when the other side has gone."""
        ...

    def close(self) -> None:
        """End the conversation and wait for what was started to end; calling it again does nothing."""
        ...

    def lost(self, host: str) -> MachineError:
        """What became of the other side, when a line could not be sent, or `read` came back with less than one."""
        ...


class ProcessLink:
    """A link to a child's standard input and output."""

    def __init__(self, process: subprocess.Popen[bytes], patience_s: float = 10) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._patience_s = patience_s
        self._input, self._output = process.stdin, process.stdout

    def send(self, line: bytes, patience: Patience = Patience.SOON) -> None:
        """Write it all, unbuffered."""
        try:
            while line:
                line = line[os.write(self._input.fileno(), line) :]
        except ValueError:
            raise BrokenPipeError("It is closed already.") from None

    def interrupt(self, line: bytes) -> None:
        """Write it, in one piece: it is shorter than what a pipe takes at once (pipe(7), PIPE_BUF)."""
        self.send(line)

    def read(self) -> bytes:
        """The next line."""
        return self._output.readline()

    def close(self) -> None:
        """Close the child's input, at which an agent kills what it started and exits; wait for that."""
        with contextlib.suppress(OSError):
            self._input.close()
        try:
            self._await_end()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._output.close()

    def _await_end(self) -> None:
        """Wait for the child's end, which the kernel tells (pidfd_open(2)): `Popen.wait` looks again and again instead.

        Raises subprocess.TimeoutExpired.
        """
        patience_s = self._patience_s
        with contextlib.suppress(OSError):
            end = os.pidfd_open(self.process.pid)
            try:
                poll = select.poll()
                poll.register(end, select.POLLIN)
                poll.poll(1000 * patience_s)
            finally:
                os.close(end)
            patience_s = 0
        self.process.wait(timeout=patience_s)

    def lost(self, host: str) -> MachineError:
        """How the child ended."""
        return ended(host, self.died())

    def died(self) -> str:
        """How the child ended: "ended with exit code 3"."""
        code = self.process.wait()
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def ended(host: str, how: str) -> MachineError:
    """The error that the agent of a host has ended."""
    return MachineError(
        f"The agent on {host} {how} in the middle of its work. The workload it ran was ended with it. All runs "
        "finished before are kept."
    )
