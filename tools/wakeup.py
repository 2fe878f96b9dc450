"""Waiting for processes that misses no signal.

Python runs the handler of a signal between two of its instructions. A signal that arrives just before a call that
blocks would be handled when the call ends, which may be never. Here it also makes a descriptor readable
(`signal.set_wakeup_fd`).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from contextlib import suppress
from types import TracebackType
from typing import Self


def terminate(process: subprocess.Popen[bytes]) -> None:
    """Send SIGTERM to a process that the caller waits for. `Popen.terminate` may collect it first, after which its pid
    is nobody's or another process's."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)


class Wakeup:
    """A wait of the main thread that every signal with a handler ends."""

    def __enter__(self) -> Self:
        self._reading, self._writing = os.pipe()
        for descriptor in (self._reading, self._writing):
            os.set_blocking(descriptor, False)
        self._before = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.set_wakeup_fd(self._before)
        os.close(self._reading)
        os.close(self._writing)

    def wait(self, *descriptors: int) -> None:
        """Wait until one of the descriptors can be read, or a signal has arrived."""
        ready, _, _ = select.select([self._reading, *descriptors], [], [])
        if self._reading in ready:
            os.read(self._reading, 4096)
