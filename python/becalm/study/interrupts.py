"""The first Ctrl-C: a clean stop of what is going on, on whichever thread.

`heard` turns the first SIGINT or SIGTERM into a clean stop of everything that has `joined`; a second one has its usual
effect. Signals reach the main thread only, and belong to the process: so does what is kept here.
"""

from __future__ import annotations

import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_lock = threading.Lock()
_numbers = itertools.count()
_running: dict[int, Callable[[], None]] = {}
_stopped = False


@contextmanager
def joined(stop: Callable[[], None]) -> Iterator[None]:
    """Have `stop` called at the first signal, or at once after it."""
    number = next(_numbers)
    with _lock:
        _running[number] = stop
        late = _stopped
    if late:
        stop()
    try:
        yield
    finally:
        with _lock:
            del _running[number]


def stop_joined() -> None:
    """Stop what has joined by now, from any thread: what is asked for when no signal tells it."""
    with _lock:
        running = list(_running.values())
    for call in running:
        call()


def stopped() -> bool:
    """Return whether the person has interrupted the work that `heard` is for."""
    return _stopped


@contextmanager
def heard() -> Iterator[None]:
    """Handle signals for all that join, from the main thread; on other threads no signals are handled."""
    global _stopped
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[signal.Signals, Any] = {}

    def stop(number: int, frame: FrameType | None) -> None:
        global _stopped
        for each in SIGNALS:
            signal.signal(each, before[each])
        with _lock:
            _stopped = True
            running = list(_running.values())
        for call in running:
            call()

    _stopped = False
    for each in SIGNALS:
        before[each] = signal.signal(each, stop)
    try:
        yield
    finally:
        for each in SIGNALS:
            signal.signal(each, before[each])
        _stopped = False
