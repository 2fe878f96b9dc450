"""A guard for tests that may use memory and temporary files only: processes, sockets, sleep and real clocks raise.

`tests/conftest.py` puts it around every test of `tests/unit` and `tests/property`, fixtures of all scopes included. It
also puts a fake clock in the place of the system's (`tests/fake_clock.py`).

Processes and sockets are stopped by an audit hook (PEP 578), which also sees what libraries do, but not what code in C
does by itself. Clocks are stopped only for becalm and the tests: pytest and Hypothesis time themselves. Waiting with a
limit is stopped only for the tests: becalm may wait for what the test does in another thread.
"""

import errno
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests import fake_clock

FORBIDDEN = frozenset(
    (
        "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn",
        "socket.__new__", "socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyaddr",
        "socket.gethostbyname", "socket.getnameinfo", "subprocess.Popen",
    )
)  # fmt: skip
"""Audit events of processes and sockets."""

CLOCKS = (
    "clock_gettime", "clock_gettime_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns",
    "process_time", "process_time_ns", "sleep", "thread_time", "thread_time_ns", "time", "time_ns",
)  # fmt: skip

OF_NOW = {"asctime": 1, "ctime": 1, "gmtime": 1, "localtime": 1, "strftime": 2}
"""Functions that read the clock when they get fewer arguments than this."""

NOT_INSTALLED = ("fc-list",)
"""Programs that libraries can do without: matplotlib asks this one for the fonts of the machine."""

GUARDED = ("becalm", "tests", "bench", "tools")
"""The packages for which the functions of `time` raise."""

HINT = "Use a simulated host, the null host or the fake clock, or move the test to tests/contract."

_active = False
_hooked = False


class UsesMachine(BaseException):
    """A test of the memory-only tier used a process, a socket or a clock. Not an Exception, so that no handler for all
    errors takes it for one."""


def _audit(event: str, arguments: tuple) -> None:
    if _active and event in FORBIDDEN:
        if event == "subprocess.Popen" and arguments[0] in NOT_INSTALLED:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), arguments[0])
        subject = f" of {arguments[0]!r}" if event == "subprocess.Popen" and arguments else ""
        raise UsesMachine(f"{event}{subject} in a memory-only test. {HINT}")


def _guarded(name: str):
    real = getattr(time, name)

    def function(*arguments):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        values = [argument for argument in arguments if argument is not None]
        reads = len(values) < OF_NOW.get(name, sys.maxsize)
        if _active and reads and caller.partition(".")[0] in GUARDED:
            raise UsesMachine(f"time.{name} in a memory-only test (called by {caller}). {HINT}")
        return real(*arguments)

    function.__name__ = name
    return function


def _waiting(real):
    def wait(self, timeout=None):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if _active and timeout and caller.partition(".")[0] == "tests":
            raise UsesMachine(f"waiting for {timeout} s in a memory-only test (called by {caller}). {HINT}")
        return real(self, timeout)

    return wait


@contextmanager
def guard() -> Iterator[None]:
    """Guard everything inside, and put a fake clock in the place of the system's."""
    global _active, _hooked
    if not _hooked:
        sys.addaudithook(_audit)
        _hooked = True
    with pytest.MonkeyPatch.context() as patch:
        fake_clock.install(patch)
        for name in (*CLOCKS, *OF_NOW):
            patch.setattr(time, name, _guarded(name))
        for kind in (threading.Condition, threading.Event):
            patch.setattr(kind, "wait", _waiting(kind.wait))
        _active = True
        try:
            yield
        finally:
            _active = False
