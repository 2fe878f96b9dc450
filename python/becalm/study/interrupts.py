"""The first Ctrl-C: a clean stop of the current work, on any thread.

Within `handle_signals` the first SIGINT or SIGTERM calls everything registered by `stop_at_signal`; a second one has
its usual effect. Signals reach the main thread only and belong to the process, and so does the state of this module.
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
def stop_at_signal(stop: Callable[[], None]) -> Iterator[None]:
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
    """Call everything registered by `stop_at_signal`, from any thread, without a signal."""
    with _lock:
        running = list(_running.values())
    for call in running:
        call()


def interrupted() -> bool:
    """Return whether a signal has arrived within `handle_signals`."""
    return _stopped


@contextmanager
def handle_signals() -> Iterator[None]:
    """Handle signals on the main thread; on other threads do nothing."""
    global _stopped
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[signal.Signals, Any] = {}

    def stop(number: int, frame: FrameType | None) -> None:
        global _stopped
        for signal_number in SIGNALS:
            signal.signal(signal_number, before[signal_number])
        with _lock:
            _stopped = True
            running = list(_running.values())
        for call in running:
            call()

    _stopped = False
    for signal_number in SIGNALS:
        before[signal_number] = signal.signal(signal_number, stop)
    try:
        yield
    finally:
        for signal_number in SIGNALS:
            signal.signal(signal_number, before[signal_number])
        _stopped = False
