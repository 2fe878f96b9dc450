"""A guard for tests that may use memory and temporary files only: processes, sockets, sleep and real clocks raise.

`tests/conftest.py` puts it around every test of `tests/unit` and `tests/property`, fixtures of all scopes included. It
also puts a fake clock in the place of the system's (`tests/fake_clock.py`).

Processes and sockets are stopped by an audit hook (PEP 578), which also sees what libraries do. Clocks are stopped only
for becalm and the tests: pytest and Hypothesis time themselves.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests import fake_clock

FORBIDDEN = frozenset(
    (
        "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn",
        "socket.__new__", "socket.bind", "socket.connect", "subprocess.Popen",
    )
)  # fmt: skip
"""Audit events of processes and sockets."""

CLOCKS = (
    "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "sleep",
    "thread_time", "thread_time_ns", "time", "time_ns",
)  # fmt: skip

LIBRARIES = (("fc-list",),)
"""Programs that may be started: matplotlib asks once for the fonts of the machine."""

GUARDED = ("becalm", "tests", "bench", "tools")
"""The packages for which the functions of `time` raise."""

HINT = "Use a simulated host, the null host or the fake clock, or move the test to tests/contract."

_active = False
_hooked = False


class UsesMachine(AssertionError):
    """A test of the memory-only tier used a process, a socket or a clock."""


def _audit(event: str, arguments: tuple) -> None:
    if _active and event in FORBIDDEN and arguments[:1] not in LIBRARIES:
        subject = f" of {arguments[0]!r}" if event == "subprocess.Popen" and arguments else ""
        raise UsesMachine(f"{event}{subject} in a memory-only test. {HINT}")


def _guarded(name: str):
    real = getattr(time, name)

    def function(*arguments):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if _active and caller.partition(".")[0] in GUARDED:
            raise UsesMachine(f"time.{name} in a memory-only test (called by {caller}). {HINT}")
        return real(*arguments)

    function.__name__ = name
    return function


@contextmanager
def guard() -> Iterator[None]:
    """Guard everything inside, and put a fake clock in the place of the system's."""
    global _active, _hooked
    if not _hooked:
        sys.addaudithook(_audit)
        _hooked = True
    with pytest.MonkeyPatch.context() as patch:
        fake_clock.install(patch)
        for name in CLOCKS:
            patch.setattr(time, name, _guarded(name))
        _active = True
        try:
            yield
        finally:
            _active = False
