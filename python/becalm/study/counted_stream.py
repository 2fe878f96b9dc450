"""The counts of a running process as a continuous stream: a host's recording, read alongside its consumer.

`begin` counts the best that the host can: the last-level cache, which says what misses cost; else which pages the
process newly uses, which says where its working set changes; else page faults, of which only an exec is taken.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from becalm.errors import BecalmError, RefusedError
from becalm.hosts import Host
from becalm.hosts.recorded import Counting, RecordEvent, Recording, Records
from becalm.migration.kinds import KINDS
from becalm.study.place_tasks import Process
from becalm.wording import migrate as wording

ORDER = tuple(KINDS)

OF_SWITCHES = tuple(each for each in ORDER if each != "ws_turnover")
"""The quantities counted at switches, by either means: pages are looked at, which programs in the kernel do not."""

LEAST_BATCH_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class CountedStream:
    """The stream: what is counted, and its batches (`waiting_move.Stream`)."""

    counting: Counting
    remarks: tuple[str, ...]
    _events: queue.Queue[RecordEvent | BaseException | None]

    @property
    def events(self) -> str:
        """The counted quantity in words."""
        return wording.events(self.counting)

    @property
    def bounded(self) -> bool:
        """Whether it says what misses cost."""
        return self.counting.miss_ratio

    @property
    def kinds(self) -> tuple[int, ...]:
        """Types of spots that it can show."""
        return KINDS[self.counting.events]

    def now_ns(self) -> int:
        """Return the clock of the agent's records."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

    def batch(self, timeout_s: float) -> Sequence[Mapping[str, Any]] | None:
        """Return the next records, none when none came in time; None at the end. Raises what ended the recording."""
        try:
            event = self._events.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            return ()
        if isinstance(event, BaseException):
            raise event
        if event is None:
            return None
        return event.rows if isinstance(event, Records) else ()


@contextmanager
def begin(
    host: Host, process: Process, events: str, window_ns: int, by: str = "perf"
) -> Iterator[CountedStream | tuple[str, ...]]:
    """Count a process on a host that does nothing else meanwhile; `events`: one of ORDER, or "auto"; `by`: of MEANS.

    Gives why nothing can be counted, in sentences, where nothing can. Raises what events that were named are
    refused by, and BPF, which is always named.
    """
    why: list[str] = []
    for name in order(events, by):
        told: queue.Queue[RecordEvent | BaseException | None] = queue.Queue()
        recording = Recording(name, window_ns, batch_ns=max(LEAST_BATCH_NS, window_ns // 2), by=by)
        reader = threading.Thread(target=_read, args=(host, recording, process, told), daemon=True)
        reader.start()
        first = told.get()
        if isinstance(first, RefusedError) and events == "auto":
            reader.join()
            why.append(str(first))
            continue
        if isinstance(first, BaseException):
            raise first
        assert isinstance(first, Counting), "a recording says first what it counts"
        try:
            yield CountedStream(first, tuple(why), told)
        finally:
            host.stop()
            reader.join()
        return
    if by != "perf":
        raise RefusedError(why[0])
    yield tuple(why)


def order(events: str, by: str) -> Sequence[str]:
    """Return the quantities to try to count, in order, the best first."""
    if events != "auto":
        return (events,)
    return ORDER if by == "perf" else OF_SWITCHES


def _read(
    host: Host, recording: Recording, process: Process, told: queue.Queue[RecordEvent | BaseException | None]
) -> None:
    try:
        for event in host.record(recording, process.pid, started=process.start):
            told.put(event)
        told.put(None)
    except BecalmError as error:
        told.put(error)
