"""Pipes and fifos: waiting for what is written, and until a program can write no more, because nobody reads."""

from __future__ import annotations

import os
import select
from pathlib import Path
from typing import IO

from tests.waiting import wait_readable


def is_full(pipe: IO[bytes]) -> bool:
    """Return whether nothing more fits into the pipe that this is the reading end of."""
    writer = os.open(f"/proc/self/fd/{pipe.fileno()}", os.O_WRONLY | os.O_NONBLOCK)
    try:
        return not select.select([], [writer], [], 0)[1]
    finally:
        os.close(writer)


def first_line(fifo: Path) -> str:
    """Return what somebody writes first to a fifo."""
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        wait_readable(reader)
        return os.read(reader, select.PIPE_BUF).decode()
    finally:
        os.close(reader)


def sleeps(pid: int) -> bool:
    """Return whether a process waits for something: it would run if what it waits for were there."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"
