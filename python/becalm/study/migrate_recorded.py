"""Moving a process while it is recorded, at a moment that its records decide.

    with Mover(machine, MoveRequest(cpu)) as mover:      # machine: an agent that binds, and does nothing else
        mover.counts(counting); mover.begins(pid)        # as the recording reports them
        mover.add(rows)                                  # again and again
    mover.moved -> Moved                                 # the process may use its former CPUs again

One agent records, and the caller's thread reads its records. A second thread decides and binds (`migrate_once`, as for
`becalm migrate`), so that recording waits for neither. The process stays bound until the recording ends.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from becalm import system_clock
from becalm.errors import RefusedError, UsageError
from becalm.hosts import Host
from becalm.hosts.recorded import Counting, RecordEvent, Records
from becalm.migration.migrate import Migrated
from becalm.study import migrate_once, migrate_target, place_tasks
from becalm.study.counted_stream import CountedStream
from becalm.study.migrate_once import LEAST_LOADED, Cpus, Move
from becalm.units import cpu_list
from becalm.wording import migrate as wording


class MoveRequest(msgspec.Struct, frozen=True):
    """A request for a move.

    - `cpu`: CPUs, or "least-loaded"; `llc`: within the "same" or to an "other" last-level cache
    - `rules`, `window`, `limit`: as for `becalm migrate --at-sweetspot`
    - `how`: "spot" moves at the next sweet spot, "now" at once, and "stay" binds the process where it runs
    - `after_s`: the time from the beginning of the recording to the request, s
    - `cost`: measured values of p and t_s for the waiting rule
    """

    cpu: Cpus = LEAST_LOADED
    llc: str | None = None
    rules: str = "rise"
    window: float | str | None = None
    limit: float | str | None = None
    root: str | Path = "/"
    how: str = "spot"
    after_s: float = 0.0
    cost: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, words: Cpus, rules: str, window: float | str | None, limit: float | str | None) -> MoveRequest:
        """Return the request for a typed destination: CPUs, least-loaded, or same or other.

        The last two mean the least loaded CPU of such a last-level cache. Raises UsageError for other words and for an
        invalid limit.
        """
        migrate_once.limit_of(limit)
        if words in migrate_target.LLC:
            return cls(LEAST_LOADED, str(words), rules, window, limit)
        if words != LEAST_LOADED:
            try:
                cpu_list((words,) if isinstance(words, int) else words)
            except UsageError:
                raise UsageError(wording.no_destination(str(words), (LEAST_LOADED, *migrate_target.LLC))) from None
        return cls(words, None, rules, window, limit)


class Moved(msgspec.Struct, frozen=True):
    """The outcome of a move: `done`, or else `why_not`, a sentence.

    `from_ns`, `until_ns`: the beginning and the end of binding, by the recording's clock.
    """

    done: Migrated | None = None
    why_not: str = ""
    from_ns: int = 0
    until_ns: int = 0

    def to_json(self, migrations: Sequence[int] = ()) -> dict[str, Any]:
        """Return the value as JSON. `migrations`: the indices of this move's migrations in the stream."""
        return {
            "done": None if self.done is None else self.done.to_json(), "why_not": self.why_not or None,
            "from_ns": self.from_ns, "until_ns": self.until_ns, "migrations": list(migrations),
        }  # fmt: skip


class Mover:
    """A thread that moves the recorded process once."""

    def __init__(self, machine: Host, request: MoveRequest) -> None:
        self.moved: Moved | None = None
        self._machine, self._request = machine, request
        self._counting: Counting | None = None
        self._pid: int | None = None
        self._begun_ns = 0
        self._records: queue.Queue[RecordEvent | BaseException | None] = queue.Queue()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._after: Callable[[], object] = lambda: None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._records.put(None)
        if self._thread is not None:
            self._thread.join()
        elif self.moved is None:
            self.moved = Moved(why_not=wording.nothing_to_move())
        if self._error is not None and error is None:
            raise self._error

    def on_trouble(self, call: Callable[[], object]) -> None:
        """Register a function that is called when the move fails with an unexpected error."""
        self._after = call

    def counts(self, counting: Counting) -> None:
        """Take the counted quantity."""
        self._counting = counting
        self._may_start()

    def begins(self, pid: int) -> None:
        """Take the number of the recorded process, which has just begun."""
        self._pid, self._begun_ns = pid, system_clock.monotonic_ns()
        self._may_start()

    def add(self, rows: Sequence[Mapping[str, Any]], at_ns: int = 0, cost_ns: int = 0) -> None:
        """Add the next records; they are ignored after the move."""
        if self.moved is None:
            self._records.put(Records(rows, at_ns, cost_ns))

    def _may_start(self) -> None:
        if self._thread is None and self._counting is not None and self._pid is not None:
            self._thread = threading.Thread(target=self._run, args=(self._pid, self._counting), daemon=True)
            self._thread.start()

    def _run(self, pid: int, counting: Counting) -> None:
        request = self._request
        try:
            move = migrate_once.plan_move(pid, request.cpu, request.llc, request.root, load_s=0.0)
            rules = move.rules(request.rules, request.window, request.limit, request.cost)
            stream = CountedStream(counting, (), self._records)
            with move.prepare(self._machine):
                after_ns = self._begun_ns + round(request.after_s * 1e9) - system_clock.monotonic_ns()
                waited = move.wait_for_moment(stream, rules, after_ns=after_ns, at_once=request.how != "spot")
                move = move.stay() if request.how == "stay" else move.replan()
                self._move(move, move.describe(waited), stream)
        except RefusedError as error:
            self.moved = Moved(why_not=self._why_not(pid, error))
        except UsageError as error:
            # The options were checked before, so the process has ended.
            self.moved = Moved(why_not=str(error))
        except Exception as error:
            # It is raised on the caller's thread, at the end of the recording.
            self._error = error
            self._after()

    def _move(self, move: Move, done: Migrated, stream: CountedStream) -> None:
        from_ns = stream.now_ns()
        with self._machine.hold(move.setting()) as on:
            self.moved = Moved(migrate_once.with_sentence(done, on), "", from_ns, stream.now_ns())
            self._over.wait()

    def _why_not(self, pid: int, error: RefusedError) -> str:
        # The stream ends with the process or with the recording; the message depends on which of them ended.
        ended = str(error) == wording.ended(pid)
        there = place_tasks.read_process(pid, self._request.root) is not None
        return wording.not_in_time(pid) if ended and there else str(error)


def check_command(request: MoveRequest) -> None:
    """Raise RefusedError for requested CPUs that a command may not use, because it inherits this process's affinity."""
    own = place_tasks.read_process(os.getpid(), request.root)
    if request.cpu == LEAST_LOADED or own is None:
        return
    cpus = cpu_list((request.cpu,) if isinstance(request.cpu, int) else request.cpu)
    if not set(cpus) <= set(own.allowed):
        raise RefusedError(wording.not_for_command(cpus, own.allowed))


def migrations_of(moved: Moved, answer: Mapping[str, Any]) -> list[int]:
    """Return the indices of a stream's migrations that belong to this move, the first of each thread.

    A thread that slept migrates when it wakes up. `answer`: the engine's answer
    (crates/becalm-sim/src/spots/detect.rs).
    """
    done = moved.done
    if done is None:
        return []
    numbers: list[int] = []
    seen: set[int] = set()
    for number, migration in sorted(enumerate(answer["migrations"]), key=lambda item: item[1]["time_ns"]):
        program = migration["program"]
        ours = answer["programs"][program]["process"] == done.pid
        if ours and migration["time_ns"] >= moved.from_ns and program not in seen:
            seen.add(program)
            if migration["to"] in done.cpus and migration["from"] not in done.cpus:
                numbers.append(number)
    return numbers
