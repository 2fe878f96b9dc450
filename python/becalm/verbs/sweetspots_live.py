"""`becalm sweetspots -- CMD` and `--pid N`: record who runs when on each CPU, report when a program moves cheaply.

The agent records (`becalm.hosts.recorded`), the records are written to a private file at once, and the engine reads it
at the end, so that neither has the stream in memory. With `migrate`, a `migrate_recorded.Mover` gets the records, too.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from msgspec.structs import replace

from becalm import hosts, system_clock
from becalm.errors import UsageError, WorkloadError
from becalm.files.written import target, writing
from becalm.hosts import Ability, Access, Host, MeasureRequest, Runs, RunText, Written
from becalm.hosts.recorded import SETS, Counting, Recorded, Recording, Records, Started, known_means
from becalm.migration import perf_data
from becalm.migration.engine import ask
from becalm.migration.kinds import KINDS, visible
from becalm.migration.rules import waiting_cost
from becalm.migration.sweetspots import Spotted
from becalm.migration.tally import Tally, TallyInterval
from becalm.nouns.run import Block, Outcome, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Output, Workload
from becalm.results.progress import ProgressListener
from becalm.study import interrupts, migrate_once, migrate_recorded, own_marks
from becalm.study.counted_stream import LEAST_BATCH_NS
from becalm.study.migrate_once import Cpus
from becalm.units import cpu_list, duration_ns
from becalm.verbs.sweetspots import asked, named, of_process, said
from becalm.wording import migrate as wording

MOST_BYTES = 4 << 30
"""The limit of records on the disk, bytes: more than an hour with 8,000 switches a second. Recording ends there."""

INTERVAL_NS = 1_000_000_000
"""The interval of the live view, ns."""

WINDOW_NS = 5_000_000

BATCH_NS = 100_000_000
"""The interval of batches without a move, ns: ten events a second cost less than a hundred."""


def record_sweetspots(
    command: str | Sequence[str] | None = None,
    *,
    pid: int | None = None,
    events: str = "llc",
    by: str = "perf",
    window: float | str | None = None,
    rules: str = "rise",
    cpus: str | None = None,
    host: str | Host = "local",
    sudo: bool = False,
    output: str = "inherit",
    save: str | Path | None = None,
    listener: ProgressListener | None = None,
    look: Callable[[TallyInterval], None] | None = None,
    migrate: Cpus | None = None,
    limit: float | str | None = None,
    s1: float | None = None,
    s2: float | None = None,
    reuse: float | None = None,
    miss_cost: float | str | None = None,
) -> Spotted:
    """Record a program while it runs, and find the moments at which it moves cheaply. The first Ctrl-C ends recording.

    Arguments:
        command: started as the invoking user; kernel:NAME is a built-in program, whose marks are recorded; or
        pid: a process that runs already, recorded until it ends.
        events: llc (references and misses of the last-level cache), faults (page faults) or ws_turnover (newly
            referenced pages). The last two need no counters in the processor, and are no miss ratio.
        by: the source of switches: perf, or bpf where the agent was built with programs for the kernel (`make bpf`).
        window: T, seconds or text ("5ms").
        rules: rise (ours), published, adaptive or cusum.
        cpus: record only these CPUs, such as "0,2-3".
        host: where to record; sudo: whether settings may be changed as root.
        output: the command's output: inherit, discard.
        save: a file for the records, as JSON that `sweetspots` reads.
        listener, look: called with the program's output, and with its counts in each second.
        migrate: move the program meanwhile, once, at the next sweet spot, as `becalm.migrate` does with `at_sweetspot`:
            to CPUs (a number or "2-3"), the "least-loaded" one, or the least loaded one of the "same" or another
            ("other") last-level cache. It gets its CPUs back at the end; a failure to move it is in the result.
        limit: the time after which it is moved in any case, at most "100ms", which is the default; needs `migrate`.
        s1, s2: as in `sweetspots`. reuse, miss_cost: as in `migrate`, for the wait.

    Raises RefusedError where nothing can be recorded, with the possible alternatives, or the program cannot be moved;
    WorkloadError for a program that cannot be run or a missing process; UsageError, MachineError.
    """
    if (command is None) == (pid is None):
        raise UsageError("What is to be recorded? Give a command, or --pid N of a running process.")
    if save is not None:
        target(save)
    if events not in SETS:
        raise UsageError(f"There are no events {events!r}. There are: {', '.join(SETS)}.")
    known_means(by)
    question = asked(rules, window, s1, s2)
    cost = waiting_cost(reuse, miss_cost)
    moving = None if migrate is None else _moving(migrate, rules, window, limit, host, command is not None, cost)
    if moving is None and (limit is not None or cost):
        option = "--limit" if limit is not None else "--reuse" if reuse is not None else "--miss-cost"
        raise UsageError(f"{option} applies only to the wait for a sweet spot: give --migrate, too.")
    window_ns = duration_ns(window) if window else WINDOW_NS
    # A mover that waits for a spot needs to know of it at once.
    batch_ns = BATCH_NS if moving is None else max(LEAST_BATCH_NS, window_ns // 2)
    recording = Recording(events, window_ns, batch_ns, cpus, by)
    if cpus is not None:
        cpu_list(cpus)
    program = None if command is None else own_marks.program(command, host, output=Output(output), expect=None)
    workload = None if program is None else program.workload
    access = Access(sudo=sudo, title="becalm sweetspots")
    with (
        tempfile.TemporaryFile("w", encoding="utf-8") as file,
        hosts.open(host, access) as machine,
        _mover(moving, host, access, pid) as mover,
        interrupts.handle_signals(),
        interrupts.stop_at_signal(machine.stop),
    ):
        hosts.need(machine.name, machine.abilities(), Ability.FOLLOW)
        receiver = EventReceiver(file, machine.stop, pid, listener, look, mover)
        with mover or nullcontext():
            receiver.take(_events(machine, recording, workload, pid))
        file.flush()
        question |= receiver.asked()
        # The file has no name, so that nothing of it remains whatever is killed.
        path = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        answer = of_process(ask("spots", {"from": {"batches": {"path": path}}, "question": question}))
        answer = visible(named(answer, receiver.names()), KINDS[events])
        if program is not None:
            answer["marks"] = [*answer["marks"], *program.marks(answer["programs"], receiver.process)]
        answer["recording"] = receiver.told()
        if mover is not None and mover.moved is not None:
            answer["move"] = mover.moved.to_json(migrate_recorded.migrations_of(mover.moved, answer))
        counted = receiver.counted()
        if save is not None:
            head = {"events": counted, "miss_ratio": events == "llc", "kinds": list(KINDS[events])}
            _save(Path(save), Path(path), {**head, "names": receiver.names(), "looked_at": receiver.asked()})
    spotted = said(Spotted("live", counted, "ns", rules, answer, miss_ratio=events == "llc", kinds=KINDS[events]))
    return replace(spotted, sentence=f"{spotted.sentence}{receiver.sentence()}")


def _moving(
    migrate: Cpus,
    rules: str,
    window: float | str | None,
    limit: float | str | None,
    host: str | Host,
    command: bool,
    cost: dict[str, Any],
) -> migrate_recorded.MoveRequest:
    if isinstance(host, str) and not hosts.is_local(host):
        raise UsageError(wording.not_there(host))
    result = replace(migrate_recorded.MoveRequest.of(migrate, rules, window, limit), cost=cost)
    if command:
        migrate_recorded.check_command(result)
    return result


@contextmanager
def _mover(
    request: migrate_recorded.MoveRequest | None, host: str | Host, access: Access, pid: int | None
) -> Iterator[migrate_recorded.Mover | None]:
    """Yield a second agent, which binds while the first one records.

    Raises before that for a process that cannot be moved.
    """
    if request is None:
        yield None
        return
    if pid is not None:
        migrate_once.plan_move(pid, request.cpu, request.llc, request.root)
    with hosts.open(host, access) as binder:
        hosts.need(binder.name, binder.abilities(), Ability.HOLD)
        yield migrate_recorded.Mover(binder, request)


def _events(machine: Host, recording: Recording, workload: Workload | None, pid: int | None) -> Iterator[Any]:
    if workload is None:
        yield from machine.record(recording, pid)
        return
    machine.define([workload], [Settings()])
    request = MeasureRequest(0, Block((Step(0, 0, 0, 0),)), stop_on_failure=False, recording=recording)
    yield from machine.measure(request)


class EventReceiver:
    """A receiver of events: records go to `file`, the rest is remembered."""

    def __init__(
        self,
        file: IO[str],
        stop: Callable[[], None],
        pid: int | None,
        listener: ProgressListener | None,
        look: Callable[[TallyInterval], None] | None,
        mover: migrate_recorded.Mover | None = None,
    ) -> None:
        self._file, self._stop, self._listener, self._look = file, stop, listener, look
        self._pid, self._tally = pid, None if pid is None else Tally(pid)
        self._mover = mover
        if mover is not None:
            mover.on_trouble(stop)
            if pid is not None:
                mover.begins(pid)
        self._counting: Counting | None = None
        self._end: Recorded | None = None
        self._bytes = 0
        self._begun_ns = self._seen_ns = system_clock.monotonic_ns()

    def take(self, events: Iterable[Any]) -> None:
        """Take all events. Raises WorkloadError when the program was not run."""
        texts: list[str] = []
        for event in events:
            match event:
                case Counting():
                    self._counting = event
                    if self._mover is not None:
                        self._mover.counts(event)
                case Started(_, pid):
                    self._pid, self._tally = pid, Tally(pid)
                    if self._mover is not None:
                        self._mover.begins(pid)
                case Records(rows):
                    self._records(rows)
                case Recorded():
                    self._end = event
                case Written(stream, text):
                    if self._listener is not None:
                        self._listener.wrote(stream, text)
                case RunText(_, stderr):
                    texts.append(stderr)
                case Runs(rows):
                    if rows[-1].outcome == Outcome.REFUSED:
                        raise WorkloadError(f"The command was not run. {''.join(texts)}".strip())

    def _records(self, rows: Sequence[Any]) -> None:
        self._bytes += self._file.write(json.dumps(rows, separators=(",", ":")) + "\n")
        if self._bytes > MOST_BYTES:
            self._stop()
        if self._mover is not None:
            self._mover.add(rows)
        if self._tally is None or self._look is None:
            return
        self._tally.add(rows)
        if system_clock.monotonic_ns() - self._seen_ns >= INTERVAL_NS:
            self._seen_ns = system_clock.monotonic_ns()
            self._look(self._tally.take())

    @property
    def process(self) -> int | None:
        """The process that is recorded."""
        return self._pid

    def asked(self) -> dict[str, Any]:
        """Return the part of the stream to analyse: the program, on its caches."""
        assert self._counting is not None
        question: dict[str, Any] = {"llc": self._counting.llc}
        if self._pid is not None:
            question["tasks"] = [self._pid]
        if self._counting.absent and self._counting.cpus:
            question["recorded"] = list(cpu_list(self._counting.cpus))
        return question

    def counted(self) -> str:
        """Return the counted quantity in words."""
        assert self._counting is not None
        if self._counting.events == "ws_turnover":
            return "pages that were referenced, and among them those that were not before (ws_turnover)"
        return "; ".join(
            perf_data.counted(counter["references"], counter["misses"], counter["cpus"])
            for counter in self._counting.counted
        )

    def names(self) -> dict[str, str]:
        """Return the names of tasks, by number."""
        return {} if self._end is None else dict(self._end.names)

    def told(self) -> dict[str, Any]:
        """Return the facts about the recording itself, for the result."""
        end, counting = self._end, self._counting
        assert end is not None
        assert counting is not None
        return {
            "pid": self._pid, "by": counting.by, "counted": list(counting.counted), "cpus": counting.cpus,
            "absent": dict(end.absent), "records": end.records, "trouble": dict(end.trouble), "cost_ns": end.cost_ns,
            "took_ns": system_clock.monotonic_ns() - self._begun_ns,
        }  # fmt: skip

    def sentence(self) -> str:
        """Return the sentence about what is missing; empty where nothing is missing."""
        assert self._end is not None
        parts = [
            f" CPU {what} was not recorded: {why}." if what.isdecimal() else f" {why}"
            for what, why in self._end.absent.items()
        ]
        if lost := self._end.trouble.get("lost"):
            parts.append(f" {lost:,} records were lost, because they were not read in time.")
        if shared := self._end.trouble.get("shared"):
            parts.append(f" Others used the counters {shared:,} times meanwhile; the counts were not scaled.")
        if unread := self._end.trouble.get("unread"):
            parts.append(
                f" The counters of a CPU could not be read {unread:,} times, as while it goes offline: what happened"
                " then is unknown."
            )
        if self._bytes > MOST_BYTES:
            parts.append(f" Recording ended after {MOST_BYTES >> 30} GiB of records.")
        return "".join(parts)


def _save(path: Path, batches: Path, head: dict[str, Any]) -> None:
    """Write one object with a list of all records, batch by batch."""
    try:
        with writing(path) as out, batches.open(encoding="utf-8") as lines:
            out.write((json.dumps(head)[:-1] + ', "records": [').encode())
            for number, line in enumerate(lines):
                out.write(((",\n" if number else "\n") + line.strip()[1:-1]).encode())
            out.write(b"]}\n")
    except OSError as error:
        raise UsageError(f"The records cannot be written to {path}: {error.strerror}.") from None
