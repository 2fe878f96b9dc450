"""Temporary directories in memory: the agent waits for the disk at each line of its journal, however busy that is."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MEMORY = "/dev/shm"


def is_usable() -> bool:
    """Return whether files can be written to and executed from a file system in memory."""
    return os.access(MEMORY, os.W_OK | os.X_OK) and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC


@contextmanager
def memory_directory() -> Iterator[Path]:
    """Make a directory for a while, in memory where that is possible."""
    with tempfile.TemporaryDirectory(prefix="becalm-tests-", dir=MEMORY if is_usable() else None) as name:
        # Another run of tests sees by this that the directory is in use (tools/traces.py).
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield Path(name)
        finally:
            os.close(descriptor)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Return a directory of this test in memory, in place of pytest's on the disk."""
    with memory_directory() as path:
        yield path


def let_others_in(path: Path) -> None:
    """Let every user read a directory and reach it: pytest's own directories are closed to others."""
    path.chmod(path.stat().st_mode | 0o055)
    for parent in path.parents:
        if parent.stat().st_mode & 0o001:
            return
        parent.chmod(parent.stat().st_mode | 0o011)
