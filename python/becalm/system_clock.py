"""The clock of the machine that becalm runs on: the only place of the package that reads it or sleeps.

Tests replace `current` by a clock that they move themselves.
"""

from __future__ import annotations

import time as _time
from typing import Protocol


class Clock(Protocol):
    """A source of time that can also wait."""

    def monotonic_ns(self) -> int:
        """Return nanoseconds since an arbitrary start; never goes back."""

    def monotonic_raw_ns(self) -> int:
        """Return nanoseconds of CLOCK_MONOTONIC_RAW, the clock of recordings: not corrected by NTP."""

    def time_ns(self) -> int:
        """Return nanoseconds since 1970-01-01 UTC."""

    def sleep(self, seconds: float) -> None:
        """Return after at least that many seconds."""


class SystemClock:
    """The kernel's clocks."""

    monotonic_ns = staticmethod(_time.monotonic_ns)
    time_ns = staticmethod(_time.time_ns)
    sleep = staticmethod(_time.sleep)

    def monotonic_raw_ns(self) -> int:
        """Return nanoseconds of CLOCK_MONOTONIC_RAW, the clock of recordings: not corrected by NTP."""
        return _time.clock_gettime_ns(_time.CLOCK_MONOTONIC_RAW)


current: Clock = SystemClock()
"""The clock in use."""


def monotonic_ns() -> int:
    """Return nanoseconds since an arbitrary start; never goes back."""
    return current.monotonic_ns()


def monotonic() -> float:
    """Return seconds since an arbitrary start; never goes back."""
    return current.monotonic_ns() / 1e9


def monotonic_raw_ns() -> int:
    """Return nanoseconds of CLOCK_MONOTONIC_RAW, the clock of recordings: not corrected by NTP."""
    return current.monotonic_raw_ns()


def time_ns() -> int:
    """Return nanoseconds since 1970-01-01 UTC."""
    return current.time_ns()


def sleep(seconds: float) -> None:
    """Return after at least that many seconds."""
    current.sleep(seconds)
