"""`becalm watch`: the load of the machine, second by second, and the share that a running program gets.

`live` reads the machine every `interval`; `follow` observes a process until it ends. Both are generators of Instants
that end when `ending` is set (by a key, a signal, or otherwise). Measuring one run with its load is `verbs.watch_run`.
A reading that comes too late is left out and counted, never made up for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from becalm import hosts, system_clock
from becalm.errors import UsageError
from becalm.hosts import Ability, Access, Host
from becalm.load.live import Followed, Instant, ProcessCounts, Reading, account
from becalm.study import interrupts
from becalm.units import duration_ns
from becalm.wording import study_findings

SHORTEST_NS = 100_000_000
"""The shortest interval. CPU time is counted in ticks of 10 ms, so fewer than ten of them give no useful share."""

CONSUMERS = 5
"""The number of programs with the most CPU time that are named."""


class Watching(msgspec.Struct, frozen=True):
    """The options of watching. `interval`: seconds or text ("500ms"); `count`: end after this number of intervals.

    `user`: the user as whom the agent reads; another user's I/O is visible to root only.
    """

    interval: float | str = 1.0
    count: int | None = None
    host: str | Host = "local"
    sudo: bool = False
    root: str | None = None
    ending: threading.Event = msgspec.field(default_factory=threading.Event)
    connected: Callable[[Host], None] = lambda host: None
    """A callback for the host once it answers, so that its `stop` can be called."""
    warned: Callable[[str], None] = lambda sentence: None
    """A callback for a sentence on how the readings differ from those of a real machine."""

    def period_ns(self) -> int:
        """Return the interval in ns. Raises UsageError."""
        period = duration_ns(self.interval)
        if period < SHORTEST_NS:
            raise UsageError(
                f"--interval must be at least {SHORTEST_NS // 1_000_000} ms, not {self.interval}: CPU time is counted "
                "in ticks of 10 ms."
            )
        if self.count is not None and self.count < 1:
            raise UsageError(f"--count must be at least 1, not {self.count}.")
        return period


class Ending:
    """A means to end a watch from elsewhere: another thread, a key. A signal (Ctrl-C) ends it anyway."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self._stops: list[Callable[[], None]] = []

    def add(self, stop: Callable[[], None]) -> None:
        """Add a function to call at the end."""
        self._stops.append(stop)

    def end(self) -> None:
        """End now."""
        self.event.set()
        for stop in self._stops:
            stop()


def watch_machine(
    *,
    interval: float | str = "1s",
    count: int | None = None,
    host: str | Host = "local",
    sudo: bool = False,
    root: str | None = None,
    ending: Ending | None = None,
    warned: Callable[[str], None] | None = None,
) -> Iterator[Instant]:
    """Yield the load of the machine, interval by interval, until it is ended; the first Ctrl-C ends it regularly.

    Arguments:
        interval: the time between two readings: seconds, or text with a unit; at least 100 ms.
        count: end after this number of intervals.
        host: a name, or an open host.
        sudo: change settings as root, which watching needs only to count delays.
        root: a directory that looks like `/`, to read instead of the machine.
        ending: a means to end it from elsewhere.
        warned: called with a sentence if the times are not those of a real processor.

    Raises UsageError for an interval that is too short or a simulated host, MachineError when the host is lost.
    """
    end = ending or Ending()
    watching = Watching(interval, count, host, sudo, root, end.event, _stopping(end), warned or _unheard)
    return _until_interrupted(live, watching, end)


def watch_process(
    pid: int,
    *,
    interval: float | str = "1s",
    count: int | None = None,
    host: str | Host = "local",
    sudo: bool = False,
    root: str | None = None,
    ending: Ending | None = None,
    warned: Callable[[str], None] | None = None,
) -> Iterator[Instant]:
    """Yield the activity of a running process and of the machine by interval, until the process ends.

    The last Instant marks the end.

    Arguments:
        pid: the number of the process; the others as for `watch_machine`.

    Raises UsageError as `watch_machine`, WorkloadError for a missing process, RefusedError for one that may not be
    read, MachineError.
    """
    end = ending or Ending()
    watching = Watching(interval, count, host, sudo, root, end.event, _stopping(end), warned or _unheard)
    return _until_interrupted(lambda options: follow(pid, options), watching, end)


def _unheard(sentence: str) -> None:
    """Ignore a sentence; used without a listener."""


def _warn(watching: Watching, host: Host) -> None:
    if unreal := hosts.emulated(host):
        watching.warned(study_findings.emulated("", {"reason": unreal}))


def _stopping(end: Ending) -> Callable[[Host], None]:
    return lambda host: end.add(host.stop)


def _until_interrupted(
    instants: Callable[[Watching], Iterator[Instant]], watching: Watching, end: Ending
) -> Iterator[Instant]:
    with interrupts.handle_signals(), interrupts.stop_at_signal(end.end):
        yield from instants(watching)


def live(watching: Watching) -> Iterator[Instant]:
    """Yield the load of the machine, interval by interval. The first Instant comes after the first interval.

    Raises UsageError for an interval that is too short or a simulated host, MachineError when the host is lost.
    """
    period_ns = watching.period_ns()
    with hosts.open(watching.host, _access(watching)) as host:
        hosts.need(host.name, host.abilities(), Ability.READ_LOAD)
        _warn(watching, host)
        watching.connected(host)
        host.read(consumers=CONSUMERS)
        due, number, skipped, cost_ns = system_clock.monotonic_ns(), 0, 0, 0
        while watching.count is None or number < watching.count:
            due += period_ns
            late = system_clock.monotonic_ns() - due
            if late > 0:
                # The receiver was too slow: the next reading covers the missed ones.
                missed = 1 + late // period_ns
                due, skipped = due + missed * period_ns, skipped + missed
            if watching.ending.wait((due - system_clock.monotonic_ns()) / 1e9):
                return
            reading = host.read(consumers=CONSUMERS)
            cost_ns += (reading.load and reading.load.cost_ns) or 0
            yield _instant(number, reading, skipped, cost_ns)
            number += 1


def follow(pid: int, watching: Watching) -> Iterator[Instant]:
    """Yield the activity of a running process and of the machine by interval, until the process ends.

    The last Instant marks the end.

    Raises UsageError as `live`, WorkloadError for a missing process, RefusedError for one that may not be read,
    MachineError.
    """
    period_ns = watching.period_ns()
    with hosts.open(watching.host, _access(watching)) as host:
        hosts.need(host.name, host.abilities(), Ability.FOLLOW)
        _warn(watching, host)
        before: ProcessCounts | None = None
        at_ns = number = 0
        for event, reading in host.follow(pid, period_ns, consumers=CONSUMERS):
            after = account(event["process"])
            if before is None:
                # The host can be stopped from now on.
                watching.connected(host)
            elif watching.count is None or number < watching.count:
                process = Followed(
                    pid, before, after, event["at_ns"] - at_ns, bool(event["ended"]), bool(event["whole"])
                )
                seen = _instant(number, reading, event["skipped"], event["cost_ns"])
                yield replace(seen, process=process)
                number += 1
            before, at_ns = after, event["at_ns"]
            if watching.ending.is_set() or number == watching.count:
                host.stop()


def _access(watching: Watching) -> Access:
    return Access(sudo=watching.sudo, root=watching.root, title="becalm watch")


def _instant(number: int, reading: Reading, skipped: int, cost_ns: int) -> Instant:
    load = None if reading.load is None else reading.load._replace(first=number, last=number)
    return Instant(number, system_clock.time_ns(), load, reading.consumers, None, reading.absent, skipped, cost_ns)
