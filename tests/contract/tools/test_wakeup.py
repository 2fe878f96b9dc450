"""A signal at any moment ends the wait, also one that comes before it."""

import os
import signal

from wakeup import Wakeup


def test_a_signal_that_came_before_the_wait_ends_it():
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with Wakeup() as wakeup:
            for _ in range(3):
                signal.raise_signal(signal.SIGUSR1)
                wakeup.wait()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert signal.set_wakeup_fd(-1) == -1, "what was set before is back"


def test_a_descriptor_ends_it_too():
    reading, writing = os.pipe()
    os.write(writing, b"x")
    with Wakeup() as wakeup:
        wakeup.wait(reading)
    os.close(reading)
    os.close(writing)
