"""The waits of programs for a CPU and their causes: others on this machine by name, the program itself, a quota, or
the hypervisor.

The kernel counts the run-queue wait, and a quota's part of it (cgroups: throttled time). A single thread cannot wait
for itself; the time that several tasks may have waited for each other has an upper bound. The rest was caused by
others, and `becalm.stats.culprits` decides which of them are named. Pure functions: records in, a Waiting out.

Public: waiting; Block, culprits_of for `becalm.load.disk_culprits`.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from becalm.load.counted_waits import by_count
from becalm.load.covered import loaded
from becalm.load.cpu_competition import MATERIAL
from becalm.load.others import CountedWaits, Others, OthersReading, ProcessUse, QuotaCounts
from becalm.load.record import Load
from becalm.load.time_accounting import Times
from becalm.load.time_accounting import of as times_of
from becalm.load.waits import LEVELS, Culprit, Level, Suspects, Waiting
from becalm.nouns.run import Run
from becalm.stats.arrays import Floats
from becalm.stats.culprits import FALSE_NAMING, Blocks, NamedCandidate, joint_suspects, name_culprits

TOGETHER = 0.02
"""The share of their CPU time that several tasks, no more than there are CPUs, may wait for each other: tasks on
different CPUs do not wait, but it takes a while until they are spread."""


_RATE = FALSE_NAMING / len(Level)
"""The rate of false naming at each level: every level is a further chance to name somebody wrongly."""


class Block(NamedTuple):
    """The time of one reading. `own_ns`: the most of the waits that the program's own tasks may have caused."""

    reading: OthersReading | None
    span_ns: float
    wait_ns: float
    own_ns: float


def waiting(
    runs: Iterable[Run], loads: Sequence[Load], others: Sequence[Others], quota_cpus: float | None = None
) -> Waiting | None:
    """Return the waits of runs by cause; None where no load has them.

    `runs`: all runs of a study, or the selected ones; loads and others of further runs are left out. All arguments are
    in the order of the runs, which are read once. Nothing is estimated where the kernel counted who ran during the
    waits (`becalm.load.counted_waits`).
    """
    seqs = array("q")

    def noted() -> Iterator[Run]:
        """Yield the runs and keep their numbers: 8 bytes a run."""
        for run in runs:
            seqs.append(run.seq)
            yield run

    passing = noted() if any(record.quotas for record in others) else runs
    parts = [_part(load, own) for load, own in loaded(passing, loads) if load.wait_ns is not None]
    if not parts:
        return None
    blocks, hidden = _blocks(parts, others)
    wall_ns = float(sum(part.wall_ns for part in parts))
    quota_ns = float(sum(part.quota_ns for part in parts))
    stolen_ns = float(sum(part.stolen_ns for part in parts))
    wait_ns = float(sum(part.wait_ns for part in parts))
    most_own = float(sum(part.own_ns for part in parts))
    least_own = sum(max(0.0, min(b.own_ns, b.wait_ns - _all_ns(b.reading))) for b in blocks if b.reading is not None)
    least_own = min(least_own, most_own)
    waits = Waiting(
        runs=sum(part.runs for part in parts),
        wall_ns=wall_ns,
        lost_ns=wait_ns + quota_ns + stolen_ns,
        others_ns=wait_ns - most_own,
        own_ns=least_own,
        quota_ns=quota_ns,
        hypervisor_ns=stolen_ns,
        unknown_ns=most_own - least_own,
        cpus=parts[0].load.own_cpus or parts[0].load.cpus,
        quota_cpus=quota_cpus,
        quotas=_quotas(others, seqs),
        several=any(part.several for part in parts),
        scope=min((part.load.scope for part in parts), key=("leader", "group", "tree").index),
    )
    if counted := _counted([part.load for part in parts], others):
        return by_count(waits, counted)
    known = [block for block in blocks if block.reading is not None]
    if waits.others_ns < MATERIAL * wall_ns or not known:
        return waits
    # The waits within readings are taken as representative of all waits.
    covered = sum(block.wait_ns for block in known) / wait_ns if wait_ns else 0.0
    culprits, suspects = culprits_of(known, hidden, MATERIAL * wall_ns * min(covered, 1.0))
    return replace(waits, culprits=culprits, suspects=suspects, blocks=len(known))


def _counted(loads: Sequence[Load], others: Sequence[Others]) -> list[CountedWaits]:
    """Return what was counted around these loads; nothing where a record around one of them lacks it."""
    begins, ends = [load.first for load in loads], [load.last for load in loads]
    records = [record for record in others if bisect_left(ends, record.first) < bisect_right(begins, record.last)]
    counted = [record.waits for record in records if record.waits is not None]
    return counted if len(counted) == len(records) else []


def _quotas(others: Sequence[Others], seqs: Sequence[int]) -> tuple[QuotaCounts, ...]:
    """Return the counts of quotas around the runs of ascending numbers; records that also cover other runs are left
    out."""
    sums: dict[tuple[str, float], QuotaCounts] = {}
    for record in others:
        if bisect_right(seqs, record.last) - bisect_left(seqs, record.first) <= record.last - record.first:
            continue
        for more in record.quotas:
            key = more.group, more.cpus
            before = sums.get(key, QuotaCounts(*key, 0, 0, 0))
            sums[key] = QuotaCounts(
                *key,
                periods=before.periods + more.periods,
                throttled=before.throttled + more.throttled,
                throttled_ns=before.throttled_ns + more.throttled_ns,
            )
    return tuple(sums.values())


class _Part(NamedTuple):
    """A load with the number of its runs, and in ns: wall time, waits without those for a quota, and CPU time."""

    load: Load
    runs: int
    wall_ns: float
    wait_ns: float
    own_ns: float
    quota_ns: float
    stolen_ns: float
    cpu_ns: float
    several: bool


def _part(load: Load, runs: list[Run]) -> _Part:
    times = times_of(runs, load)
    # Several tasks that work at the same time have the wall time each.
    wall_ns = float(sum(run.took_ns for run in runs)) * times.width
    cpu_ns = (times.on_cpu_ns or 0.0) * len(runs)
    whole = float(load.wait_ns or 0)
    quota_ns = min(float(load.quota_ns or 0), whole)
    wait_ns = whole - quota_ns
    steal, busy = load.steal_ns, load.busy_ns
    stolen_ns = 0.0 if not steal or not busy else steal * min(1.0, cpu_ns / busy) / times.width
    own_ns = min(wait_ns, _most_own(times, load, cpu_ns))
    return _Part(load, len(runs), wall_ns, wait_ns, own_ns, quota_ns, stolen_ns, cpu_ns, times.several)


def _most_own(times: Times, load: Load, cpu_ns: float) -> float:
    """Return the longest time that the program's own tasks may have waited for each other."""
    if not times.several:
        return 0.0
    if load.scope == "leader":
        # The waits are those of its first thread: its other tasks had the CPU for as long as they ran.
        return max(0.0, cpu_ns - float(load.exec_ns or 0))
    cpus = load.own_cpus or load.cpus or 1
    return cpu_ns * max(TOGETHER, times.ready / cpus - 1)


def _all_ns(reading: OthersReading | None) -> float:
    return 0.0 if reading is None else float(sum(use.amount for use in reading.taken) + reading.rest_ns)


def _blocks(parts: Sequence[_Part], others: Sequence[Others]) -> tuple[list[Block], float]:
    """Return the waits by reading, and the CPU time that cannot be assigned to anybody, ns.

    A part without a reading becomes a block without one.
    """
    blocks: list[Block] = []
    bare: list[_Part] = []
    unseen, ended, place = 0.0, 0.0, 0
    for record in others:
        mine: list[_Part] = []
        while place < len(parts) and parts[place].load.last <= record.last:
            whole = parts[place].load.first >= record.first
            (mine if whole else bare).append(parts[place])
            place += 1
        if not mine:
            continue
        busy = sum(math.inf if part.load.busy_ns is None else part.load.busy_ns for part in mine)
        taken = sum(_all_ns(reading) + reading.elsewhere_ns for reading in record.readings)
        unseen += busy - taken - sum(part.cpu_ns for part in mine)
        readings = _timed(record.readings, mine)
        if len(readings) > 1:
            # The kernel reports ended processes only after the run, so it is unknown when they ran.
            ended += sum(use.amount for reading in readings for use in reading.taken if use.pid is None)
        wait_ns, own_ns = (float(sum(values)) for values in zip(*((p.wait_ns, p.own_ns) for p in mine), strict=True))
        for reading in readings[:-1]:
            within = min(float(reading.wait_ns or 0), wait_ns)
            part_of = within / wait_ns if wait_ns else 0.0
            blocks.append(Block(reading, float(reading.interval_ns), within, own_ns * part_of))
            wait_ns, own_ns = wait_ns - within, own_ns * (1 - part_of)
        last = readings[-1]
        blocks.append(Block(last, float(last.interval_ns), wait_ns, own_ns))
    blocks += [Block(None, float(part.load.interval_ns), part.wait_ns, part.own_ns) for part in (*bare, *parts[place:])]
    return blocks, max(0.0, unseen) + ended


def _timed(readings: Sequence[OthersReading], parts: Sequence[_Part]) -> Sequence[OthersReading]:
    """Return the readings if the waits within each are known, else their sum as a single reading.

    Of several tasks, some may have ended before a reading, together with the count of their waits.
    """
    if len(readings) == 1 or (len(parts) == 1 and parts[0].runs == 1 and not parts[0].several):
        return readings
    taken = tuple(use for reading in readings for use in reading.taken)
    interval_ns = sum(reading.interval_ns for reading in readings)
    return (OthersReading(interval_ns, taken, sum(reading.rest_ns for reading in readings)),)


def culprits_of(blocks: Sequence[Block], hidden: float, least_ns: float) -> tuple[tuple[Culprit, ...], Suspects | None]:
    """Return the named culprits (processes, else names, else control groups), and those that only count jointly."""
    for level, key in LEVELS:
        who, data = _table(blocks, hidden, key)
        names = name_culprits(data, least_ns=least_ns, false_naming=_RATE)
        if names:
            culprits = tuple(_culprit(level, who[name.index], data, name) for name in names)
            return culprits, _suspects(who, data, [name.index for name in names])
    who, data = _table(blocks, hidden, LEVELS[1][1])
    return (), _suspects(who, data, ())


def _suspects(who: Sequence[Sequence[ProcessUse]], data: Blocks, known: Sequence[int]) -> Suspects | None:
    pair = joint_suspects(data, known)
    return None if pair is None else Suspects(tuple(_called(who[index]) for index in pair.indices), pair.low)


def _called(uses: Sequence[ProcessUse]) -> str:
    pids = {use.pid for use in uses}
    name = uses[0].name
    pid = next(iter(pids))
    return f"{name} ({pid})" if len(pids) == 1 and pid is not None else name


def _table(
    blocks: Sequence[Block], hidden: float, key: Callable[[ProcessUse], object]
) -> tuple[list[list[ProcessUse]], Blocks]:
    """Return the processes of each candidate that can be named, and the candidates' CPU time by block."""
    places: dict[object, int] = {}
    who: list[list[ProcessUse]] = []
    uses: dict[tuple[int, int], float] = {}
    rest = 0.0
    for number, block in enumerate(blocks):
        assert block.reading is not None
        rest += min(float(block.reading.rest_ns), block.wait_ns)
        for use in block.reading.taken:
            place = places.setdefault(key(use), len(places))
            if place == len(who):
                who.append([])
            who[place].append(use)
            uses[place, number] = uses.get((place, number), 0.0) + use.amount
    waits = np.array([block.wait_ns for block in blocks])
    spans = np.array([max(block.span_ns, 1.0) for block in blocks])
    own = np.array([block.own_ns for block in blocks])
    nobody: Floats = np.zeros((0, len(blocks)))
    major, data = Blocks(waits, spans, nobody, own, hidden + rest).with_uses(uses)
    return [who[place] for place in major], data


def _culprit(level: Level, uses: Sequence[ProcessUse], data: Blocks, verdict: NamedCandidate) -> Culprit:
    pids = {use.pid for use in uses}
    living = len(pids - {None})
    ended = sum(use.count for use in uses if use.pid is None)
    groups, names = {use.group for use in uses}, {use.name for use in uses}
    group = groups.pop() if len(groups) == 1 else ""
    pid = next(iter(pids)) if len(pids) == 1 else None
    return Culprit(
        level=level,
        name=names.pop() if len(names) == 1 else group,
        pid=pid,
        group=group,
        count=living + ended,
        used_ns=float(data.cpu_ns[verdict.index].sum()),
        share=verdict.share,
        low=verdict.low,
        high=verdict.high,
        basis=verdict.basis,
    )
