"""Directories that a host needs while it is open, and that go with it: of a becalm that was killed, with the next one.

A directory in use is locked (flock(2)) by the becalm that made it, so it is known to be nobody's when it is not.
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
"""Younger ones are left alone: they may not be locked yet."""


class Scratch(tempfile.TemporaryDirectory[str]):
    """A private directory `becalm-KIND-…`. Making one removes those of this kind that were left."""

    def __init__(self, kind: str, place: str | None = None) -> None:
        prefix = f"becalm-{kind}-"
        for left in abandoned(prefix, Path(place or tempfile.gettempdir())):
            shutil.rmtree(left, ignore_errors=True)
        super().__init__(prefix=prefix, dir=place, ignore_cleanup_errors=True)
        self._lock: int | None = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def cleanup(self) -> None:
        """Remove it; calling it again does nothing."""
        lock, self._lock = self._lock, None
        if lock is not None:
            super().cleanup()
            os.close(lock)


def abandoned(prefix: str, place: Path) -> Iterator[Path]:
    """Yield our own directories whose becalm has gone."""
    for path in place.glob(f"{prefix}*"):
        with suppress(OSError):
            about = path.lstat()
            young = system_clock.time_ns() / 1e9 - about.st_mtime < YOUNG_S
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or young:
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield path
            finally:
                os.close(lock)
