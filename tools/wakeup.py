"""Waiting for processes that misses no signal.

Python runs the handler of a signal between two of its instructions. A signal that arrives just before a call that
blocks would be handled when the call ends, which may be never. Here it also makes a descriptor readable
(`signal.set_wakeup_fd`).
"""

from __future__ import annotations

import os
import select
import signal
from types import TracebackType
from typing import Self


class Wakeup:
    """Wakes the main thread at every signal that has a handler."""

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
