"""One run and the load of the machine meanwhile: the noun Watched, computed from the run, its Load and its Series.

`watched` joins them: the delay factor and the waterfall (`load.delay`, `load.waterfall`), each measure over time
(MeasureCourse), the other programs that used most CPU time, the gaps in the kernel's counts and the ways to close them,
and the cost of observing. Pure functions: the verb fetches, the report shows.

Public: MeasureCourse, Interrupter, Watched, watched, plain_reference, courses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from becalm.load.background_load import own_cpu_ns
from becalm.load.cpu_competition import confined
from becalm.load.delay import Competition, Delay, delay
from becalm.load.disk_culprits import DiskWaiting
from becalm.load.live import Consumer
from becalm.load.memory_waits import MemoryWaiting
from becalm.load.metrics import MEASURES, Measure
from becalm.load.network_traffic import NetworkUse
from becalm.load.others import Others
from becalm.load.record import LOAD_COLUMNS, Load, Series
from becalm.load.reported_waits import reported_waits
from becalm.load.time_accounting import Times
from becalm.load.time_accounting import of as times_of
from becalm.load.waits import Waiting
from becalm.load.waterfall import Bar, Waterfall, waterfall
from becalm.nouns.codec import Json
from becalm.nouns.result import Result
from becalm.nouns.run import Outcome, Run


class MeasureCourse(msgspec.Struct, frozen=True):
    """A measure during a run, in its base unit (`becalm.load.metrics`).

    - `mean`: over the whole run, from differences of counters where it is counted
    - `peak`: the largest sample; `peak_ns`: the middle of that sample, since the start
    - `at_ns`: the ends of the samples, since the start; `values`: one for each
    """

    name: str
    label: str
    unit: str
    mean: float | None
    peak: float | None
    peak_ns: float | None
    at_ns: tuple[float, ...] = ()
    values: tuple[float | None, ...] = ()


class Interrupter(msgspec.Struct, frozen=True):
    """A source of interrupts: its name in /proc/interrupts, and how often it interrupted a CPU."""

    name: str
    count: int


class Watched(Result, frozen=True):
    """The result of one watched run.

    - `delay_factor`: the factor of `delay`; None without a reference or CPU time
    - `waits`, `disk_waits`, `memory_waits`, `network_use`: its waits by cause, where they are worth reporting
    - `cpus`, `queue`: the CPUs that it may use, and the tasks that wanted them, its own included, on which the expected
      delay rests; if these are fewer than the machine has, the queue is known only where others used none of them
    - `study`: its number in the store; None when nothing was stored
    - `more`: sentences on what would reveal more
    - `cost`: CPU time of observing over the wall time, a fraction
    - `dropped`, `skipped`: samples that were lost or left out
    - `settings`: those of this run; `standing`: those applied before, which stay applied
    - `emulated`: why its times are not those of a real processor; empty where they are
    """

    KIND = "watch"
    DERIVED = ("delay_factor", "bars")
    OBJECTS = ("run", "load")

    study: int | None
    host: str
    program: str
    run: Run
    load: Load | None
    delay: Delay | None
    waterfall: Waterfall | None
    waits: Waiting | None = None
    disk_waits: DiskWaiting | None = None
    memory_waits: MemoryWaiting | None = None
    network_use: NetworkUse | None = None
    cpus: float | None = None
    queue: float | None = None
    courses: tuple[MeasureCourse, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    interrupters: tuple[Interrupter, ...] = ()
    level: int = 0
    more: tuple[str, ...] = ()
    cost: float | None = None
    samples: int = 0
    dropped: int = 0
    skipped: int = 0
    settings: Mapping[str, Json] = msgspec.field(default_factory=dict)
    standing: Mapping[str, Json] = msgspec.field(default_factory=dict)
    emulated: str = ""
    sentence: str = ""

    @property
    def delay_factor(self) -> float | None:
        """Wall time over reference time."""
        return None if self.delay is None else self.delay.factor

    @property
    def exit_code(self) -> int:
        """The exit code: 130 interrupted, 4 the program did not end well, else 0 (docs/reference/exit-codes.md)."""
        return 0 if self.run.outcome == Outcome.OK else 130 if self.run.outcome == Outcome.ABORTED else 4

    @property
    def bars(self) -> tuple[Bar, ...]:
        """The bars of the waterfall."""
        return () if self.waterfall is None else self.waterfall.bars


def watched(
    run: Run,
    load: Load | None,
    series: Series | None,
    around: Competition,
    *,
    reference: Times | None = None,
    program: str = "",
    host: str = "local",
    study: int | None = None,
    others: Sequence[Others] = (),
) -> Watched:
    """Return the report of one run.

    `reference`: the times of an unloaded run, if there is one; `others`: the CPU time of other processes.
    """
    times = times_of([run], load)
    if load is not None:
        around = confined(around, load, times, own_cpu_ns([run], load))
    skipped, dropped = (0, 0) if series is None else (series.skipped, series.dropped)
    cost = None
    if load is not None and load.cost_ns is not None and load.interval_ns > 0:
        cost = load.cost_ns / load.interval_ns
    level = times.level
    waits: dict[str, Any] = {}
    if load is not None:
        waits = dict(reported_waits([load], lambda: [run], others, around.quota_cpus))
    return Watched(
        study=study,
        host=host,
        program=program,
        run=run,
        load=load,
        delay=delay(times, around, reference),
        waterfall=waterfall(times, reference, around.cpus),
        waits=waits.get("waits"),
        disk_waits=waits.get("disk_waits"),
        memory_waits=waits.get("memory_waits"),
        network_use=waits.get("network_use"),
        cpus=around.cpus,
        queue=around.queue,
        courses=courses(load, series),
        consumers=() if series is None else tuple(map(_consumer, series.consumers)),
        interrupters=() if series is None else tuple(map(_interrupter, series.interrupts)),
        level=level,
        more=tuple(_more(level, load)),
        cost=cost,
        samples=0 if load is None else load.samples,
        dropped=dropped,
        skipped=skipped,
    )


def plain_reference(wall_ns: int, run: Run) -> Times:
    """Return a reference of which only the wall time is known: it waited for no CPU, nothing was stolen, and its CPU
    time is that of this run, at most its wall time. Everything else is unknown."""
    cpu = None if run.user_ns is None or run.system_ns is None else float(min(wall_ns, run.user_ns + run.system_ns))
    return Times(1, float(wall_ns), cpu_ns=cpu, exec_ns=cpu, wait_ns=0.0, steal_ns=0.0, busy_ns=float(wall_ns))


def courses(load: Load | None, series: Series | None) -> tuple[MeasureCourse, ...]:
    """Return each known measure over the course of the run."""
    if load is None:
        return ()
    pieces = [] if series is None else list(_pieces(load, series))
    measure_courses = []
    for measure in MEASURES:
        course = _course(measure, load, pieces)
        if course.mean is None and course.peak is None:
            continue
        if measure.minor and not course.mean and not course.peak:
            continue
        measure_courses.append(course)
    return tuple(measure_courses)


def _course(measure: Measure[Load], load: Load, pieces: Sequence[tuple[float, Load]]) -> MeasureCourse:
    values = tuple(measure.of(piece) for _, piece in pieces)
    ends = tuple(at for at, _ in pieces)
    known = [(value, -index) for index, value in enumerate(values) if value is not None]
    peak = peak_ns = None
    if known:
        peak, place = max(known)
        at, piece = pieces[-place]
        peak_ns = at if measure.name == "queue" else at - piece.interval_ns / 2
    mean = measure.of(load)
    if measure.name == "queue" and peak is None and load.queue_peak is not None:
        peak = float(load.queue_peak)
    if not any(value is not None for value in values):
        values, ends = (), ()
    return MeasureCourse(measure.name, measure.label, str(measure.unit), mean, peak, peak_ns, ends, values)


def _pieces(load: Load, series: Series) -> list[tuple[float, Load]]:
    """Return each sample as a Load of its own, with the time of its end since the start: a row covers the time since
    the previous row (docs/reference/protocol.md, `series`)."""
    names = [name if name in LOAD_COLUMNS else None for name in series.names]
    result: list[tuple[float, Load]] = []
    before = 0.0
    for index, row in enumerate(series.rows):
        at = row[0] or 0.0
        interval = at - before
        if index and interval > 0:
            values: dict[str, Any] = {name: value for name, value in zip(names, row[1:], strict=True) if name}
            head = {"first": series.first, "last": series.last, "started_ns": load.started_ns}
            result.append((at, Load(**{**head, **values, "interval_ns": interval, "cpus": load.cpus})))
        before = at
    return result


def _consumer(value: Mapping[str, int | str]) -> Consumer:
    return Consumer(int(value["pid"]), str(value["name"]), int(value["cpu_ns"]))


def _interrupter(value: Mapping[str, int | str]) -> Interrupter:
    return Interrupter(str(value["name"]), int(value["count"]))


LEVELS = (
    "CPU time only",
    "CPU time, run-queue wait, pressure",
    "CPU time and run-queue wait of all threads and children",
    "everything: all threads and children, waits for disk and memory too",
)
"""The names of the levels of knowledge about a program (`Load.level`)."""


def _more(level: int, load: Load | None) -> list[str]:
    """Return the ways to know more, as sentences."""
    if load is None:
        return ["Nothing was recorded during the run: this host cannot observe its machine."]
    result = []
    if level == 0:
        result.append(
            "The time that the program waited for a CPU is not known: this kernel has no /proc/PID/schedstat "
            "(CONFIG_SCHED_INFO), or /proc is restricted."
        )
    if level < 2:
        result.append(
            "To becalm as root the kernel reports the waits of all threads and child processes (taskstats), and those "
            "for disk and memory: becalm has it count them for the run (kernel.task_delayacct=1) and restores that."
        )
    if level == 2:
        result.append(
            "Waits for disk and memory are not counted. `sudo sysctl kernel.task_delayacct=1` has the kernel count "
            "them for programs that are started afterwards; =0 ends that."
        )
    if load.lost:
        result.append("The kernel did not report the end of some child processes: the sums are too small.")
    return result
