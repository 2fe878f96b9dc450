"""The counts of a running process as a continuous stream: a host's recording, read on a thread of its own.

`begin` counts the most informative quantity that the host can count: accesses to the last-level cache, which show what
misses cost; else newly used pages, which show where the working set changes; else page faults, which only show an exec.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from becalm import system_clock
from becalm.errors import BecalmError, RefusedError
from becalm.hosts import Host
from becalm.hosts.recorded import Counting, RecordEvent, Recording, Records
from becalm.migration.kinds import KINDS
from becalm.study.place_tasks import Process
from becalm.wording import migrate as wording

ORDER = tuple(KINDS)

OF_SWITCHES = tuple(name for name in ORDER if name != "ws_turnover")
"""The quantities that both perf and programs in the kernel can count at switches; the latter cannot look at pages."""

LEAST_BATCH_NS = 1_000_000


class CountedStream(msgspec.Struct, frozen=True):
    """A stream of counts: the counted quantity, and batches of records (a `migrate_waiting.Stream`)."""

    counting: Counting
    remarks: tuple[str, ...]
    _events: queue.Queue[RecordEvent | BaseException | None]

    @property
    def events(self) -> str:
        """The counted quantity in words."""
        return wording.events(self.counting)

    @property
    def bounded(self) -> bool:
        """Whether the counts show what misses cost."""
        return self.counting.miss_ratio

    @property
    def kinds(self) -> tuple[int, ...]:
        """The types of sweet spots that the counts can show."""
        return KINDS[self.counting.events]

    def now_ns(self) -> int:
        """Return the time of the clock that the agent's records use, ns."""
        return system_clock.monotonic_raw_ns()

    def batch(self, timeout_s: float) -> Sequence[Mapping[str, Any]] | None:
        """Return the next records, empty when none came in time; None at the end.

        Raises the error that ended the recording.
        """
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
    """Count a process on a host that does nothing else meanwhile, and yield the stream.

    `events`: one of ORDER, or "auto". `by`: one of MEANS. Where nothing can be counted, yields the reasons as sentences
    instead. Raises RefusedError when the events, or BPF, were named and cannot be counted.
    """
    why: list[str] = []
    for name in order(events, by):
        event_queue: queue.Queue[RecordEvent | BaseException | None] = queue.Queue()
        recording = Recording(name, window_ns, batch_ns=max(LEAST_BATCH_NS, window_ns // 2), by=by)
        reader = threading.Thread(target=_read, args=(host, recording, process, event_queue), daemon=True)
        reader.start()
        first = event_queue.get()
        if isinstance(first, RefusedError) and events == "auto":
            reader.join()
            why.append(str(first))
            continue
        if isinstance(first, BaseException):
            raise first
        assert isinstance(first, Counting), "a recording names first what it counts"
        try:
            yield CountedStream(first, tuple(why), event_queue)
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
    host: Host, recording: Recording, process: Process, event_queue: queue.Queue[RecordEvent | BaseException | None]
) -> None:
    try:
        for event in host.record(recording, process.pid, started=process.start):
            event_queue.put(event)
        event_queue.put(None)
    except BecalmError as error:
        event_queue.put(error)
