"""Waiting in tests: for an event or a condition, with one limit for what never comes.

The limit is not an expectation about speed. It ends a test of a broken program, on a machine however busy.
"""

import os
import select
import time
from collections.abc import Callable

HANG_LIMIT_S = 300.0
"""The time after which a wait is given up as hanging. The only one in the tests."""

_INTERVAL_S = 0.01


def wait_for(condition: Callable[[], object], description: str = "the condition") -> object:
    """Return the first true value of `condition()`; raise AssertionError after the hang limit."""
    deadline = time.monotonic() + HANG_LIMIT_S
    while True:
        if value := condition():
            return value
        assert time.monotonic() < deadline, f"{description} did not hold within {HANG_LIMIT_S:.0f} s"
        time.sleep(_INTERVAL_S)


def wait_readable(descriptor: int) -> None:
    """Wait until a file descriptor can be read or has ended."""
    ready, _, _ = select.select([descriptor], [], [], HANG_LIMIT_S)
    assert ready, f"nothing to read within {HANG_LIMIT_S:.0f} s"


def wait_ended(pid: int) -> None:
    """Wait until a process, ours or not, has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        wait_readable(descriptor)
    finally:
        os.close(descriptor)
