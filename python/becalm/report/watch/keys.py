"""Keys of a live view: q ends it. The terminal is restored, whatever ends the view."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ENDING = (b"q", b"Q", b"\x1b", b"\x04")
"""The keys q, Escape and Ctrl-D; Ctrl-C is a signal."""


@contextmanager
def keys(end: Callable[[], None]) -> Iterator[None]:
    """Call `end` once, from another thread, when one of the keys is pressed; do nothing without a terminal."""
    descriptor = _terminal()
    if descriptor is None:
        yield
        return
    before = termios.tcgetattr(descriptor)
    done, wake = os.pipe()
    # Typed characters must not spoil the view; signals (Ctrl-C, Ctrl-Z) keep their effect.
    tty.setcbreak(descriptor)
    waiting = threading.Thread(target=_wait, args=(descriptor, done, end), name="becalm-keys", daemon=True)
    waiting.start()
    try:
        yield
    finally:
        os.write(wake, b".")
        waiting.join()
        for pipe_end in (done, wake):
            os.close(pipe_end)
        with contextlib.suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _terminal() -> int | None:
    try:
        descriptor = sys.stdin.fileno()
        # A process in the background would be stopped by reading, or by setting the terminal.
        ours = os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return None
    return descriptor if ours else None


def _wait(descriptor: int, done: int, end: Callable[[], None]) -> None:
    while True:
        ready, _, _ = select.select([descriptor, done], [], [])
        if done in ready:
            return
        typed = os.read(descriptor, 1)
        if not typed or typed in ENDING:
            end()
            return
