"""The pair of byte streams to an agent, over a pipe, a connection or a serial line."""

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
    """No limit, because programs run; the agent answers other requests meanwhile."""
    LONG = "long"


LONGEST_LINE = 64 << 20
"""The longest line from an agent, in bytes, like the longest it reads itself (crates/becalm-agent/src/input.rs)."""

CHUNK = 1 << 16


class TooMuchError(Exception):
    """An error for a line or output that is too long."""


class Link(Protocol):
    """A connection that carries lines to and from an agent."""

    def send(self, line: bytes, patience: Patience = Patience.SOON) -> None:
        """Send a request, a whole line. Raises BrokenPipeError if the other side has ended."""
        ...

    def interrupt(self, line: bytes) -> None:
        """Send a line from a signal handler or another thread, also during `read`. Raises OSError."""
        ...

    def read(self, most: int = LONGEST_LINE, limit_s: float | None = None) -> bytes:
        """Return the next line with its line end; if the other side has ended, the rest without a line end.

        Raises TooMuchError for more than `most` bytes without a line end, TimeoutError after `limit_s`.
        """
        ...

    def close(self) -> None:
        """End the conversation and wait for the end of started processes; a second call does nothing."""
        ...

    def lost(self, host: str) -> MachineError:
        """Return the error for a lost agent, after a line could not be sent or `read` returned less than a line."""
        ...


class Arrived:
    """A buffer of received bytes, read line by line. No byte is searched twice for the end of a line."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._searched = 0

    def add(self, chunk: bytes) -> None:
        """Add received bytes."""
        self._bytes += chunk

    def line(self, most: int = LONGEST_LINE) -> bytes | None:
        """Take the next line; None if it is not complete. Raises TooMuchError if it has more than `most` bytes."""
        end = self._bytes.find(b"\n", self._searched) + 1
        if (end or len(self._bytes)) > most:
            self._bytes.clear()
            self._searched = 0
            raise TooMuchError
        self._searched = 0 if end else len(self._bytes)
        return self._take(end) if end else None

    def rest(self) -> bytes:
        """Take all remaining bytes."""
        self._searched = 0
        return self._take(len(self._bytes))

    def _take(self, size: int) -> bytes:
        data = bytes(self._bytes[:size])
        del self._bytes[:size]
        return data


def wait_for(descriptor: int, left_s: float) -> None:
    """Wait until a descriptor is readable. Raises TimeoutError after `left_s` seconds."""
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
        """Write a whole line, unbuffered."""
        try:
            while line:
                line = line[os.write(self._input.fileno(), line) :]
        except ValueError:
            raise BrokenPipeError("The link is closed.") from None

    def interrupt(self, line: bytes) -> None:
        """Write a line in one piece, since it is shorter than PIPE_BUF (pipe(7))."""
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
        """Close the child's input, whereupon an agent kills what it started and exits, and wait for that."""
        with contextlib.suppress(OSError):
            self._input.close()
        try:
            self._await_end()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._output.close()

    def _await_end(self) -> None:
        """Wait for the child's end by pidfd_open(2), instead of polling as `Popen.wait` does.

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
        """Wait for the child's end, and describe it: "ended with exit code 3"."""
        code = self.process.wait()
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def ended(host: str, description: str) -> MachineError:
    """Return the error for an agent that has ended."""
    return MachineError(
        f"The agent on {host} {description} in the middle of its work. The workload it ran was ended with it. All runs "
        "finished before are stored."
    )
