"""The history of a watch: the latest values of each measure, and sums over all values."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from becalm.load.live import Consumer, Followed, Instant
from becalm.load.metrics import MEASURES, PROCESS, Measure, Unit
from becalm.report.watch.numbers import Value

LONGEST = 600
"""The number of values kept of each measure: ten minutes at one per second."""


@dataclass(slots=True)
class Track:
    """A measure over time. `peak_at`: the number of the interval with the largest value."""

    measure: Measure[Any]
    values: deque[Value] = field(default_factory=lambda: deque(maxlen=LONGEST))
    sum: float = 0.0
    known: int = 0
    peak: Value = None
    peak_at: int = 0

    def add(self, value: Value, number: int) -> None:
        """Add the value of an interval."""
        self.values.append(value)
        if value is None:
            return
        self.sum, self.known = self.sum + value, self.known + 1
        if self.peak is None or value > self.peak:
            self.peak, self.peak_at = value, number

    @property
    def now(self) -> Value:
        """The latest value."""
        return self.values[-1] if self.values else None

    @property
    def mean(self) -> Value:
        """The mean over all intervals in which the measure is known."""
        return self.sum / self.known if self.known else None

    @property
    def shown(self) -> bool:
        """Whether the measure is worth showing: a minor one that was always zero is not."""
        return self.known > 0 and (not self.measure.minor or bool(self.peak))


@dataclass(slots=True)
class WatchHistory:
    """The values of a watch so far."""

    machine: tuple[Track, ...] = field(default_factory=lambda: tuple(map(Track, MEASURES)))
    process: tuple[Track, ...] = field(default_factory=lambda: tuple(map(Track, PROCESS)))
    latest: Instant | None = None
    first: Followed | None = None
    consumers: tuple[Consumer, ...] = ()
    """The consumers at the last look at all processes; with many processes not every interval has a look."""
    instants: int = 0
    elapsed_ns: int = 0

    def add(self, instant: Instant) -> None:
        """Add an interval."""
        self.instants, self.latest = self.instants + 1, instant
        self.consumers = instant.consumers or self.consumers
        if instant.load is not None:
            self.elapsed_ns += instant.load.interval_ns
            for track in self.machine:
                track.add(track.measure.of(instant.load), instant.number)
        if instant.process is not None:
            self.first = self.first or instant.process
            for track in self.process:
                track.add(track.measure.of(instant.process), instant.number)

    def followed(self) -> Followed | None:
        """Return the process over the whole watch; None where none is followed."""
        last = self.latest.process if self.latest else None
        if self.first is None or last is None:
            return None
        return Followed(last.pid, self.first.before, last.after, self.elapsed_ns, last.ended, last.whole)

    def unseen(self) -> Sequence[str]:
        """Return the labels of the measures that this machine lacks, minor ones last.

        Mean sizes are left out, since they are undefined where nothing happened."""
        tracks = (track for track in self.machine if self.instants and track.measure.unit is not Unit.SIZE)
        unknown = [track.measure for track in tracks if not track.known]
        return [measure.label for measure in sorted(unknown, key=lambda measure: measure.minor)]

    def tracks(self) -> Iterator[Track]:
        """Yield the tracks of the machine that are worth showing."""
        return (track for track in self.machine if track.shown)
