"""Moving a process while it is recorded, by the records that are written anyway.

    with Mover(machine, Asked(cpu, limit)) as mover:     # machine: an agent that binds, and does nothing else
        mover.counts(counting); mover.begins(pid)        # of the recording, as it tells them
        mover.add(rows)                                  # again and again
    mover.moved -> Moved                                 # it has its CPUs back by now

The recording is one agent's and read on the caller's thread. What decides, and binds, is `one_move`, as of `becalm
migrate`, on a thread of its own, so that recording waits for neither. The process stays bound until recording is over.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

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


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """A move that is asked for. `cpu`: CPUs, or "least-loaded"; `llc`: of the same or another last-level cache.

    `rules`, `window`, `limit`: as of `becalm migrate --at-sweetspot`. `how`: at the next "spot", "now", or "stay" where
    it runs, bound as it would be elsewhere; it is wanted `after_s` from the beginning of recording it. `cost`: what
    is known of p and t_s of the waiting rule.
    """

    cpu: Cpus = LEAST_LOADED
    llc: str | None = None
    rules: str = "rise"
    window: float | str | None = None
    limit: float | str | None = None
    root: str | Path = "/"
    how: str = "spot"
    after_s: float = 0.0
    cost: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, words: Cpus, rules: str, window: float | str | None, limit: float | str | None) -> MoveRequest:
        """Return the options for the words typed: CPUs, least-loaded, or same or other, the least loaded one of those
        caches.

        Raises UsageError for other words, and an invalid limit.
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


@dataclass(frozen=True, slots=True)
class Moved:
    """The outcome of the move: `done`, or `why_not`, a sentence. `from_ns` to `until_ns`: the time of binding.

    Times are of the recording's clock.
    """

    done: Migrated | None = None
    why_not: str = ""
    from_ns: int = 0
    until_ns: int = 0

    def to_json(self, migrations: Sequence[int] = ()) -> dict[str, Any]:
        """Return the value as JSON. `migrations`: its numbers in the stream."""
        return {
            "done": None if self.done is None else self.done.to_json(), "why_not": self.why_not or None,
            "from_ns": self.from_ns, "until_ns": self.until_ns, "migrations": list(migrations),
        }  # fmt: skip


class Mover:
    """Moves the process that a recording is of, once."""

    def __init__(self, machine: Host, asked: MoveRequest) -> None:
        self.moved: Moved | None = None
        self._machine, self._asked = machine, asked
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
        """Have `call` called when a failure ends the recording, too."""
        self._after = call

    def counts(self, counting: Counting) -> None:
        """Take the counted quantity."""
        self._counting = counting
        self._may_start()

    def begins(self, pid: int) -> None:
        """Take the process that is recorded."""
        self._pid, self._begun_ns = pid, system_clock.monotonic_ns()
        self._may_start()

    def add(self, rows: Sequence[Mapping[str, Any]], at_ns: int = 0, cost_ns: int = 0) -> None:
        """Add the next records, which are not needed after the move."""
        if self.moved is None:
            self._records.put(Records(rows, at_ns, cost_ns))

    def _may_start(self) -> None:
        if self._thread is None and self._counting is not None and self._pid is not None:
            self._thread = threading.Thread(target=self._run, args=(self._pid, self._counting), daemon=True)
            self._thread.start()

    def _run(self, pid: int, counting: Counting) -> None:
        asked = self._asked
        try:
            move = migrate_once.planned(pid, asked.cpu, asked.llc, asked.root, load_s=0.0)
            rules = move.rules(asked.rules, asked.window, asked.limit, asked.cost)
            stream = CountedStream(counting, (), self._records)
            with move.prepared(self._machine):
                after_ns = self._begun_ns + round(asked.after_s * 1e9) - system_clock.monotonic_ns()
                waited = move.awaited(stream, rules, after_ns=after_ns, at_once=asked.how != "spot")
                move = move.staying() if asked.how == "stay" else move.anew()
                self._bound(move, move.described(waited), stream)
        except RefusedError as error:
            self.moved = Moved(why_not=self._why_not(pid, error))
        except UsageError as error:
            # Of words there is nothing left to say here: they were looked at before. Its process is gone.
            self.moved = Moved(why_not=str(error))
        except Exception as error:
            # Raised where the recording ends, on the thread of who asked.
            self._error = error
            self._after()

    def _bound(self, move: Move, done: Migrated, stream: CountedStream) -> None:
        from_ns = stream.now_ns()
        with self._machine.hold(move.setting()) as on:
            self.moved = Moved(migrate_once.said(done, on), "", from_ns, stream.now_ns())
            self._over.wait()

    def _why_not(self, pid: int, error: RefusedError) -> str:
        # The stream ends with the process, and with the recording: which of both it was decides what is said.
        ended = str(error) == wording.ended(pid)
        there = place_tasks.look(pid, self._asked.root) is not None
        return wording.not_in_time(pid) if ended and there else str(error)


def check_command(asked: MoveRequest) -> None:
    """Raise RefusedError for named CPUs that a command may not use, which inherits ours."""
    own = place_tasks.look(os.getpid(), asked.root)
    if asked.cpu == LEAST_LOADED or own is None:
        return
    cpus = cpu_list((asked.cpu,) if isinstance(asked.cpu, int) else asked.cpu)
    if not set(cpus) <= set(own.allowed):
        raise RefusedError(wording.not_for_command(cpus, own.allowed))


def migrations_of(moved: Moved, found: Mapping[str, Any]) -> list[int]:
    """Return the migrations of a stream that are this move's: of each thread the first one to its CPUs.

    `found`: the engine's answer (crates/becalm-sim/src/spots/detect.rs). A thread that slept moves when it wakes.
    """
    done = moved.done
    if done is None:
        return []
    numbers: list[int] = []
    seen: set[int] = set()
    for number, each in sorted(enumerate(found["migrations"]), key=lambda item: item[1]["time_ns"]):
        program = each["program"]
        ours = found["programs"][program]["process"] == done.pid
        if ours and each["time_ns"] >= moved.from_ns and program not in seen:
            seen.add(program)
            if each["to"] in done.cpus and each["from"] not in done.cpus:
                numbers.append(number)
    return numbers
