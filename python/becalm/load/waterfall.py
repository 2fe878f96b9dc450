"""One run explained: wall time = reference + delay, bar by bar, the unexplained rest always shown.

For one thread the sum is an identity: wall = CPU time + run-queue wait + waits for devices + other sleep. Against an
unloaded run every bar is a difference, so that the program's normal waits are not a delay. Spans that the kernel counts
around other waits (swap-in, thrashing, reclaim) are moved out of the bar in which they lie, and never added to it.
Seconds of several threads or processes do not add up to wall time: they are divided by the number of tasks at work at
the same time, bounded by their sum, and marked as not exact.

Public: Bar, Waterfall, waterfall.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
from msgspec import structs

from becalm.load.delay import UNLOADED, own_reference
from becalm.load.time_accounting import Times

REFERENCE, SLOWER, QUEUE, IO, MEMORY, STEAL, UNEXPLAINED = (
    "reference", "slower execution", "run-queue wait", "I/O wait", "swap and reclaim", "steal", "unexplained",
)  # fmt: skip
NAMES = (REFERENCE, SLOWER, QUEUE, IO, MEMORY, STEAL, UNEXPLAINED)

Ends = tuple[float | None, float | None]
"""The least and the largest value of a bar, ns."""

REFUSED_BELOW = -0.01
"""The unexplained rest, a share of wall time, below which something was counted twice or is not of this run."""

READING_NS = 20_000.0
"""The excess of counts that is tolerated, ns, for any run: its time begins a little after its accounts are read."""

COUNTED_DELAYS = 3
"""The level of Times from which on the kernel counts waits by their reason."""
NOT_COUNTED = "needs kernel.task_delayacct=1 and the right to read it"
NOT_CREDIBLE = "the kernel reported a longer wait than the run took, as it may since Linux 6.12"

LOWER_CLOCK, MORE_INSTRUCTIONS = "lower clock frequency", "more instructions"
FEWER_PER_CYCLE = "fewer instructions per cycle"
"""The name of a part that needs counts of both cycles and instructions."""

LEAST_PART = 0.01
"""The share of slower execution below which a part is not named."""


class BarPart(msgspec.Struct, frozen=True):
    """A part of a bar that is known separately, ns."""

    name: str
    ns: float


class Bar(msgspec.Struct, frozen=True):
    """A bar of the waterfall. `ns` None: the kernel does not count it, so it is part of the unexplained rest.

    `share`: of wall time; `exact`: counted, not estimated; `low`, `high`: bounds in ns where only these are known.
    """

    name: str
    ns: float | None
    share: float | None
    exact: bool
    low: float | None = None
    high: float | None = None
    parts: tuple[BarPart, ...] = ()
    note: str = ""


class Waterfall(msgspec.Struct, frozen=True):
    """All bars in the order of NAMES; those with a value add up to `wall_ns`.

    `reference`: the name of the first bar's time (as in Delay). `refused`: why no cause may be read from the bars, a
    sentence; empty when one may. `parallel`: the mean number of tasks at work at the same time, for more than one
    thread.
    """

    wall_ns: float
    reference: str
    bars: tuple[Bar, ...]
    refused: str = ""
    parallel: float | None = None
    level: int = 0

    def __getitem__(self, name: str) -> Bar:
        return next(bar for bar in self.bars if bar.name == name)

    @property
    def delay_ns(self) -> float:
        """The time on top of the reference, ns."""
        return self.wall_ns - (self[REFERENCE].ns or 0.0)

    @property
    def largest(self) -> Bar | None:
        """The bar with most of the delay, other than the reference; None without a delay or where refused."""
        known = [bar for bar in self.bars[1:] if bar.ns is not None and bar.ns > 0]
        return None if self.refused or not known else max(known, key=lambda bar: bar.ns or 0.0)


@dataclass(slots=True)
class _Terms:
    """The terms of the sum while they are separated: waits off the CPU and extra time on it, ns."""

    slower: float | None
    queue: float | None
    io: float | None
    memory: float | None
    steal: float | None


def waterfall(times: Times, reference: Times | None = None, cpus: float | None = None) -> Waterfall | None:
    """Return the bars of one run, or of the mean of several, against an unloaded run or else its own CPU time.

    `cpus`: the number of CPUs that the program may use; the waits of more tasks than these for each other belong to the
    bar of its own CPU time. None without a reference and without known CPU time.
    """
    base_ns = times.alone_ns(cpus) if reference is None else reference.wall_ns
    if not base_ns:
        return None
    width, usual_width = times.width, 1.0 if reference is None else reference.width
    before = None if reference is None else _scaled(reference, usual_width)
    now = _scaled(times, width)
    terms = _Terms(
        slower=None if before is None else _less(now.on_cpu_ns, before.on_cpu_ns),
        queue=_beyond_own(now, base_ns) if before is None else _less(now.wait_ns, before.wait_ns),
        io=now.block_ns if before is None else _less(now.block_ns, before.block_ns),
        memory=None,
        steal=_stolen(times) if reference is None else _less(_stolen(times), _stolen(reference)),
    )
    hidden = _memory(now, before, terms)
    # Stolen time is missing in the sum where the kernel takes it off CPU time, and inside CPU time where it does not
    # (kernel/sched/core.c, update_rq_clock_task): it is looked for in the rest first.
    if terms.steal is not None:
        rest = times.wall_ns - base_ns - sum(t or 0.0 for t in (terms.slower, terms.queue, terms.io, terms.memory))
        missing = min(max(terms.steal, 0.0), max(rest, 0.0))
        inside = min(max(terms.steal - missing, 0.0), max(terms.slower or 0.0, 0.0))
        if terms.slower is not None:
            terms.slower -= inside
        terms.steal = missing + inside
    bars = tuple(_bars(times, now, before, base_ns, terms, hidden, (width, usual_width)))
    rest = bars[-1].ns or 0.0
    refused = ""
    # Against an unloaded run the rest is the difference of two sleeps, so it may fall by as much as that one slept.
    slept = 0.0 if before is None else max(0.0, before.wall_ns - _known_time(before))
    if rest + slept < min(REFUSED_BELOW * times.wall_ns, -READING_NS):
        refused = (
            f"The parts add up to {-100 * (rest + slept) / times.wall_ns:.1f} % more than the run took: they are "
            "not counts of this run, so becalm names no cause."
        )
    name = own_reference(times) if reference is None else UNLOADED
    return Waterfall(times.wall_ns, name, bars, refused, width if times.several else None, times.level)


def _known_time(times: Times) -> float:
    """Return the time on the CPU, on the run queue and waiting for devices, as far as known."""
    return sum(time_ns or 0.0 for time_ns in (times.on_cpu_ns, times.wait_ns, times.block_ns))


def _scaled(times: Times, width: float) -> Times:
    """Return task-seconds as seconds of wall time, as if all tasks worked alike."""
    if width == 1.0:
        return times
    names = ("cpu_ns", "exec_ns", "wait_ns", "block_ns", "swapin_ns", "thrashing_ns", "reclaim_ns", "compact_ns")
    values = {name: getattr(times, name) for name in (*names, "copy_ns", "irq_delay_ns")}
    return structs.replace(times, **{name: ns / width for name, ns in values.items() if ns is not None})


def _stolen(times: Times) -> float | None:
    """Return the time stolen from the run: its share of the time that programs ran, times the stolen time."""
    if times.steal_ns is None or not times.busy_ns or times.on_cpu_ns is None:
        return None
    return times.steal_ns * min(1.0, times.on_cpu_ns / times.busy_ns) / times.width


def _beyond_own(now: Times, base_ns: float) -> float | None:
    """Return the run-queue wait without the waits of its own tasks for each other, which are in the reference."""
    return None if now.wait_ns is None else max(0.0, now.wait_ns - (base_ns - (now.on_cpu_ns or 0.0)))


def _less(now: float | None, before: float | None) -> float | None:
    return None if now is None or before is None else now - before


def _spans(times: Times) -> tuple[float, float] | None:
    """Return (swap-in, all of memory): thrashing encloses swap-in (mm/filemap.c, mm/memory.c), the others are
    separate."""
    parts = (times.swapin_ns, times.thrashing_ns, times.reclaim_ns, times.compact_ns, times.copy_ns)
    if all(part is None for part in parts):
        return None
    swap = max(times.swapin_ns or 0.0, times.thrashing_ns or 0.0)
    return swap, swap + sum(part or 0.0 for part in parts[2:])


def _memory(now: Times, before: Times | None, terms: _Terms) -> float:
    """Move the time of memory shortage out of the bars in which it lies; return the part inside the reference.

    Waiting for the swap device is part of block I/O wait; the rest of the spans (zram, zswap, reclaim) is work on the
    CPU. The sum of the bars stays the same.
    """
    current, usual = _spans(now), (0.0, 0.0) if before is None else _spans(before)
    if current is None or usual is None:
        return 0.0
    swap, every = (max(0.0, a - b) for a, b in zip(current, usual, strict=True))
    device = min(swap, max(0.0, terms.io or 0.0))
    if terms.io is not None:
        terms.io -= device
    work = min(every - device, max(0.0, terms.slower or 0.0))
    if terms.slower is not None:
        terms.slower -= work
    terms.memory = device + work
    return max(0.0, every - terms.memory)


def _bars(
    times: Times,
    now: Times,
    before: Times | None,
    base_ns: float,
    terms: _Terms,
    hidden: float,
    widths: tuple[float, float],
) -> Iterator[Bar]:
    wall, single = times.wall_ns, not times.several

    def bar(
        name: str,
        ns: float | None,
        exact: bool,
        parts: tuple[BarPart, ...] = (),
        note: str = "",
        ends: Ends = (None, None),
    ) -> Bar:
        return Bar(name, ns, None if ns is None else ns / wall, exact and ns is not None, *ends, parts, note)

    within = (BarPart("swap and reclaim", hidden),) if hidden > 0 and before is None else ()
    yield bar(REFERENCE, base_ns, before is not None or single, within)
    note = (
        ""
        if before is not None
        else "only an unloaded run shows whether the processor was slower or there was more work"
    )
    yield bar(SLOWER, terms.slower, single, tuple(_slower_parts(now, before, terms.slower, widths)), note)
    quota = () if not times.quota_ns or not now.wait_ns else (BarPart("quota", min(times.quota_ns, now.wait_ns)),)
    yield bar(QUEUE, terms.queue, single, quota, ends=_bounds(times, times.wait_ns))
    note = "" if times.block_ns is not None else NOT_CREDIBLE if times.level >= COUNTED_DELAYS else NOT_COUNTED
    yield bar(IO, terms.io, single and not terms.memory, (), note, _bounds(times, times.block_ns))
    yield bar(MEMORY, terms.memory, single and terms.memory == 0.0)
    yield bar(STEAL, terms.steal, terms.steal == 0.0 and times.steal_ns == 0.0)
    known = (base_ns, terms.slower, terms.queue, terms.io, terms.memory, terms.steal)
    rest = wall - sum(span or 0.0 for span in known)
    interrupts = () if not now.irq_delay_ns else (BarPart("interrupts", min(now.irq_delay_ns, max(rest, 0.0))),)
    yield bar(UNEXPLAINED, rest, single, interrupts)


def _slower_parts(
    now: Times, before: Times | None, slower: float | None, widths: tuple[float, float]
) -> Iterator[BarPart]:
    """Yield the parts of slower execution.

    Where cycles and instructions were counted, the parts are the factors of CPU time = instructions x cycles per
    instruction x time per cycle. Otherwise one part is due to a lower clock frequency. The rest may be cache, memory, a
    sibling thread, or more instructions: these are not counted, so it is only named as slower per CPU second.
    """
    if before is None or not slower or slower < 0:
        return
    if now.counted and before.counted and now.counters_scope == before.counters_scope is not None:
        yield from _counted_parts(now, before, slower, widths)
        return
    if not now.frequency_khz or not before.frequency_khz:
        return
    clock = min(slower, max(0.0, (now.on_cpu_ns or 0.0) * (1 - now.frequency_khz / before.frequency_khz)))
    yield BarPart(LOWER_CLOCK, clock)
    yield BarPart("slower per CPU second (instructions not counted)", slower - clock)


def _counted_parts(now: Times, before: Times, slower: float, widths: tuple[float, float]) -> Iterator[BarPart]:
    """Yield the factors of the product in order, each times the reference's values of the later ones.

    They add up to the difference of CPU times; `slower` is less by the time moved to other bars (steal, memory).
    """
    width, usual_width = widths
    cycles, instructions = now.cycles or 0.0, now.instructions or 0.0
    usual_cycles, usual = before.cycles or 1.0, before.instructions or 1.0
    spent_ns = (now.on_cpu_ns or 0.0) * width
    usual_cycle_ns = (before.on_cpu_ns or 0.0) * usual_width / usual_cycles
    same = instructions * usual_cycles / usual
    # Where the counts exclude the kernel's work, its time is part of the time per cycle.
    clock = LOWER_CLOCK if now.counters_scope == "all" else f"{LOWER_CLOCK}, or more time in the kernel"
    every = (
        BarPart(FEWER_PER_CYCLE, (cycles - same) * usual_cycle_ns / usual_width),
        BarPart(MORE_INSTRUCTIONS, (same - usual_cycles) * usual_cycle_ns / usual_width),
        BarPart(clock, (spent_ns - cycles * usual_cycle_ns) / usual_width),
        BarPart("fewer tasks at a time", spent_ns / width - spent_ns / usual_width),
    )
    yield from (part for part in every if abs(part.ns) >= LEAST_PART * slower)


def _bounds(times: Times, spent: float | None) -> Ends:
    """Return the bounds of the wall time that several tasks' waits cost: at least 0, at most the sum of the waits.

    The pressure of their own control group (PSI "some") is no bound: it is an average over CPUs, weighted by how long
    each had work (kernel/sched/psi.c, collect_percpu_times), and may be less than the time in which one waited.
    """
    return (None, None) if not times.several or spent is None else (0.0, min(times.wall_ns, spent))
