"""A clock that stands still unless a test or a sleep moves it."""

from becalm import system_clock

START_NS = 1_767_225_600 * 10**9
"""2026-01-01 00:00:00 UTC."""


class FakeClock:
    """A stand-in for `becalm.system_clock.SystemClock`: sleeping takes no time and moves it forward.

    A reading moves it by a microsecond, so that a loop that waits for a time without sleeping ends, too.
    """

    def __init__(self) -> None:
        self.elapsed_ns = 0

    def monotonic_ns(self) -> int:
        self.elapsed_ns += 1_000
        return 10**12 + self.elapsed_ns

    def monotonic_raw_ns(self) -> int:
        return self.monotonic_ns()

    def time_ns(self) -> int:
        self.elapsed_ns += 1_000
        return START_NS + self.elapsed_ns

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self.elapsed_ns += round(seconds * 1e9)


def install(monkeypatch) -> FakeClock:
    """Put a fake clock in the place of the system's until the end of the test."""
    clock = FakeClock()
    monkeypatch.setattr(system_clock, "current", clock)
    return clock
