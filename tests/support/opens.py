"""Waiting until another process has opened a file a number of times (inotify(7))."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

from tests.waiting import wait_readable

LIBC = ctypes.CDLL(None, use_errno=True)
IN_OPEN = 0x20
EVENT = struct.Struct("iIII")
"""struct inotify_event without its name."""


class Opens:
    """The opens of a file of this name in a directory, counted from the beginning of the `with` block."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Opens:
        self.descriptor = LIBC.inotify_init1(os.O_CLOEXEC)
        watch = LIBC.inotify_add_watch(self.descriptor, os.fsencode(self.path.parent), IN_OPEN)
        assert watch > 0, os.strerror(ctypes.get_errno())
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self.descriptor)

    def wait(self, number: int) -> None:
        """Wait for this many opens. Opens that follow one another before they are read may count as a single one."""
        while number > 0:
            wait_readable(self.descriptor)
            events = os.read(self.descriptor, 4096)
            while events:
                *_, length = EVENT.unpack_from(events)
                number -= events[EVENT.size : EVENT.size + length].rstrip(b"\0") == self.path.name.encode()
                events = events[EVENT.size + length :]
