"""The pair of byte streams to an agent: what `AgentHost` needs of a pipe, a connection or a serial line."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import Protocol


class Link(Protocol):
    """Lines to an agent and back."""

    def send(self, line: bytes) -> None:
        """Send a whole line. Raises BrokenPipeError when nobody reads any more. A signal handler may call it."""
        ...

    def read(self) -> bytes:
        """The next line with its end; without its end, or nothing, when the other side has gone."""
        ...

    def close(self) -> None:
        """End the conversation and wait for what was started to end; calling it again does nothing."""
        ...

    def died(self) -> str:
        """What became of the other side, after `read` came back with less than a line: "ended with exit code 3"."""
        ...


class ProcessLink:
    """A link to a child's standard input and output."""

    def __init__(self, process: subprocess.Popen[bytes], patience_s: float = 10) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._patience_s = patience_s
        self._input, self._output = process.stdin, process.stdout

    def send(self, line: bytes) -> None:
        """Write it all, unbuffered."""
        while line:
            line = line[os.write(self._input.fileno(), line) :]

    def read(self) -> bytes:
        """The next line."""
        return self._output.readline()

    def close(self) -> None:
        """Close the child's input, at which an agent kills what it started and exits; wait for that."""
        with contextlib.suppress(OSError):
            self._input.close()
        try:
            self.process.wait(timeout=self._patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._output.close()

    def died(self) -> str:
        """How the child ended."""
        code = self.process.wait()
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
