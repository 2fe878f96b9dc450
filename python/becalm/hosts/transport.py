"""The pair of byte streams to an agent: what `AgentHost` needs of a pipe, a connection or a serial line."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
from enum import Enum
from typing import Protocol

from becalm import system_clock
from becalm.errors import MachineError


class Patience(Enum):
    """The time that the answer to a request may take."""

    SOON = "soon"
    PROGRAMS = "programs"
    """The patience for programs, which is without limit; the agent answers requests meanwhile."""
    LONG = "long"


LONGEST_LINE = 64 << 20
"""The bytes of a line from an agent, as many as it reads of one itself (crates/becalm-agent/src/input.rs)."""

CHUNK = 1 << 16


class TooMuchError(Exception):
    """The other side sends more than is read."""


class Link(Protocol):
    """Lines to an agent and back."""

    def send(self, line: bytes, patience: Patience = Patience.SOON) -> None:
        """Send a whole line, a request. Raises BrokenPipeError when nobody reads any more."""
        ...

    def interrupt(self, line: bytes) -> None:
        """Send a line from a signal handler or another thread, while somebody may be reading. Raises OSError."""
        ...

    def read(self, most: int = LONGEST_LINE, limit_s: float | None = None) -> bytes:
        """Return the next line with its end; without its end, or nothing, when the other side has gone.

        Raises TooMuchError for more than `most` bytes without an end, TimeoutError after `limit_s`.
        """
        ...

    def close(self) -> None:
        """End the conversation and wait for what was started to end; calling it again does nothing."""
        ...

    def lost(self, host: str) -> MachineError:
        """Return the error for the other side, when a line could not be sent, or `read` returned less than one."""
        ...


class Arrived:
    """Bytes that have arrived, taken line by line. No byte is looked at twice for the end of a line."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._looked = 0

    def add(self, chunk: bytes) -> None:
        """Add what has arrived."""
        self._bytes += chunk

    def line(self, most: int = LONGEST_LINE) -> bytes | None:
        """Take the next line; None where it has not ended. Raises TooMuchError where it has more bytes than `most`."""
        end = self._bytes.find(b"\n", self._looked) + 1
        if (end or len(self._bytes)) > most:
            self._bytes.clear()
            self._looked = 0
            raise TooMuchError
        self._looked = 0 if end else len(self._bytes)
        return self._take(end) if end else None

    def rest(self) -> bytes:
        """Take all that is there."""
        self._looked = 0
        return self._take(len(self._bytes))

    def _take(self, size: int) -> bytes:
        taken = bytes(self._bytes[:size])
        del self._bytes[:size]
        return taken


def wait_for(descriptor: int, left_s: float) -> None:
    """Wait until there is something to read. Raises TimeoutError after `left_s`."""
    ready, _, _ = select.select([descriptor], [], [], max(0.0, left_s))
    if not ready:
        raise TimeoutError


class ProcessLink:
    """A link to a child's standard input and output."""

    def __init__(self, process: subprocess.Popen[bytes], patience_s: float = 10) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._patience_s = patience_s
        self._input, self._output = process.stdin, process.stdout
        self._arrived = Arrived()

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

    def read(self, most: int = LONGEST_LINE, limit_s: float | None = None) -> bytes:
        """Return the next line."""
        until = None if limit_s is None else system_clock.monotonic() + limit_s
        while (line := self._arrived.line(most)) is None:
            if until is not None:
                wait_for(self._output.fileno(), until - system_clock.monotonic())
            chunk = os.read(self._output.fileno(), CHUNK)
            if not chunk:
                return self._arrived.rest()
            self._arrived.add(chunk)
        return line

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
        """Return the error for a child that ended."""
        return ended(host, self.died())

    def died(self) -> str:
        """Return how the child ended: "ended with exit code 3"."""
        code = self.process.wait()
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def ended(host: str, how: str) -> MachineError:
    """Return the error for an agent that has ended."""
    return MachineError(
        f"The agent on {host} {how} in the middle of its work. The workload it ran was ended with it. All runs "
        "finished before are kept."
    )
