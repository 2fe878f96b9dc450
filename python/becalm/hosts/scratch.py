"""Temporary directories of hosts. Those of a killed becalm are removed by the next one.

A becalm locks its directories (flock(2)), so a directory without a lock is abandoned.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from becalm import system_clock

YOUNG_S = 60.0
"""The age below which a directory is not removed, s: it may not be locked yet."""


class Scratch(tempfile.TemporaryDirectory[str]):
    """A private directory `becalm-KIND-…`. Creating it removes abandoned ones of its kind."""

    def __init__(self, kind: str, place: str | None = None) -> None:
        prefix = f"becalm-{kind}-"
        for left in abandoned(prefix, Path(place or tempfile.gettempdir())):
            shutil.rmtree(left, ignore_errors=True)
        super().__init__(prefix=prefix, dir=place, ignore_cleanup_errors=True)
        self._lock: int | None = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def cleanup(self) -> None:
        """Remove the directory; a second call does nothing."""
        lock, self._lock = self._lock, None
        if lock is not None:
            super().cleanup()
            os.close(lock)


def abandoned(prefix: str, place: Path) -> Iterator[Path]:
    """Yield this user's directories whose becalm has ended."""
    for path in place.glob(f"{prefix}*"):
        with suppress(OSError):
            status = path.lstat()
            young = system_clock.time_ns() / 1e9 - status.st_mtime < YOUNG_S
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or young:
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield path
            finally:
                os.close(lock)
