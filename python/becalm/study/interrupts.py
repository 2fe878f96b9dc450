"""The first Ctrl-C: a clean stop of the current work, on any thread.

Within `handle_signals` the first SIGINT or SIGTERM calls everything registered by `stop_at_signal`. A second one has
its usual effect, as has the first when nothing was registered and nobody has asked for it (`interrupted`). Signals
reach the main thread only and belong to the process, and so does the state of this module.
"""

from __future__ import annotations

import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_lock = threading.Lock()
_numbers = itertools.count()
_running: dict[int, Callable[[], None]] = {}
_stopped = False
_heard = False
"""Whether anybody knows of the signal."""


@contextmanager
def stop_at_signal(stop: Callable[[], None]) -> Iterator[None]:
    """Have `stop` called at the first signal, or at once after it."""
    global _heard
    number = next(_numbers)
    with _lock:
        _running[number] = stop
        late = _stopped
        _heard = _heard or late
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
    global _heard
    stopped = _stopped
    _heard = _heard or stopped
    return stopped


@contextmanager
def handle_signals() -> Iterator[None]:
    """Handle signals on the main thread; on other threads do nothing."""
    global _stopped, _heard
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    arrived = 0

    def stop(number: int, frame: FrameType | None) -> None:
        global _stopped, _heard
        nonlocal arrived
        for signal_number in SIGNALS:
            signal.signal(signal_number, before[signal_number])
        arrived = number
        with _lock:
            running = list(_running.values())
            _heard = bool(running)
            _stopped = True
        for call in running:
            call()

    _stopped = _heard = False
    for signal_number in SIGNALS:
        signal.signal(signal_number, stop)
    try:
        yield
    finally:
        for signal_number in SIGNALS:
            signal.signal(signal_number, before[signal_number])
        unheard = _stopped and not _heard
        _stopped = False
    if unheard:
        signal.raise_signal(arrived)
