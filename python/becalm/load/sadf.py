"""The records of sysstat, as `sadf -j` writes them: intervals, and the Loads of runs that fell into them.

Runs that were measured without a record of load while sar ran on the same machine get one by their time stamps. sysstat
prints rates over whole seconds or minutes: a Load made here covers all intervals that a run touched, and all runs that
touched the same ones. Values that a file lacks are None.

Public: SarInterval, SarRecord, read, loads.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import msgspec

from becalm.errors import UsageError
from becalm.load.record import Load
from becalm.load.sadf_rates import ImpossibleValues, amounts, number, queue
from becalm.nouns.run import Run

ROUNDING_NS = 10**9
"""The rounding of ends and lengths, which are written in whole seconds: neighbours may seem to be this far apart."""

LONGEST_S = 7 * 86_400
"""The length above which an interval is invalid: sar records every few minutes; a wrapped counter results in 10^17."""

MOST_CPUS = 8192
"""A number of CPUs above that of any kernel."""


class SarInterval(msgspec.Struct, frozen=True):
    """An interval from `begin_ns` to `end_ns` (Unix time), with the values of sar as fields of a Load."""

    begin_ns: int
    end_ns: int
    amounts: Mapping[str, float | None]
    """The amounts that add up over intervals."""
    cpus: int | None
    queue: float | None

    @property
    def length_ns(self) -> int:
        """The length of the interval, ns."""
        return self.end_ns - self.begin_ns


class SarRecord(msgspec.Struct, frozen=True):
    """The intervals of one machine in order of time, and a sentence on each kind of thing that was left out."""

    host: str
    intervals: Sequence[SarInterval]
    left_out: Sequence[str]


def read(text: str, host: str | None = None, path: str = "The file") -> SarRecord:
    """Return the record of one machine. `host`: its name; None if unknown and the file is of one machine.

    Impossible values are left out: intervals of no length, shares above 100 %, impossible rates, and values that are
    not numbers. Raises UsageError for a text that sadf did not write, in local time, or of other machines.
    """
    machines = _machines(text, path)
    names = sorted({str(machine.get("nodename")) for machine in machines})
    if host is None and len(names) > 1:
        raise UsageError(
            f"{path} is of several machines, {', '.join(names)}, and the study does not tell which one is its own. "
            f"Name it: --machine {names[0]}"
        )
    own = [machine for machine in machines if host is None or _short(str(machine.get("nodename"))) == _short(host)]
    if not own:
        raise UsageError(
            f"{path} has nothing about {host or 'any machine'}: it is of {', '.join(names) or 'no machine'}."
        )
    left_out = ImpossibleValues()
    intervals = {
        interval.end_ns: interval
        for machine in own
        for row in _rows(machine)
        if (interval := _interval(row, machine, left_out)) is not None
    }
    if not intervals:
        reasons = " ".join(left_out.sentences()) or "It has no intervals; sar needs to run for more than one."
        raise UsageError(f"{path} has no interval that can be used. {reasons}")
    ordered = _apart([intervals[end] for end in sorted(intervals)], left_out)
    return SarRecord(names[0] if host is None else host, ordered, left_out.sentences())


def _apart(intervals: Sequence[SarInterval], left_out: ImpossibleValues) -> list[SarInterval]:
    """Return the intervals without those that begin before the previous one ends, as after the clock was set."""
    apart: list[SarInterval] = []
    for interval in intervals:
        if apart and interval.begin_ns < apart[-1].end_ns - ROUNDING_NS:
            moment = datetime.fromtimestamp(interval.end_ns / 1e9, UTC)
            left_out.add(f"{moment:%Y-%m-%d %H:%M:%S}", "the interval overlaps an earlier one, and was left out")
        else:
            apart.append(interval)
    return apart


def _short(name: str) -> str:
    return name.split(".")[0].casefold()


def _machines(text: str, path: str) -> list[Mapping[str, Any]]:
    """Return the machines of a file. Raises UsageError for another kind of file, and names that kind."""
    from becalm.files.kinds import describe  # Most files are records.

    hint = "Write a record with: LC_ALL=C sadf -j FILE -- -A > sa.json"
    data = text.encode("utf-8", "replace")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"is not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        sentence = describe(data, path, hint, where)
        raise UsageError(sentence if where in sentence else f"{sentence} ({where.removeprefix('is ')}.)") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}. {hint}") from None
    machines = value.get("sysstat", {}) if isinstance(value, dict) else None
    machines = machines.get("hosts") if isinstance(machines, dict) else None
    rows = [row for machine in machines for row in _rows(machine)] if isinstance(machines, list) else []
    if not isinstance(machines, list) or (rows and not any("timestamp" in row for row in rows)):
        raise UsageError(describe(data, path, hint, "is not a sysstat record"))
    stamps = [row.get("timestamp") for row in rows]
    if any(isinstance(stamp, dict) and "interval" in stamp and not stamp.get("utc") for stamp in stamps):
        raise UsageError(f"{path} is in local time, which is ambiguous. Leave out the options -T and -t of sadf.")
    return [machine for machine in machines if isinstance(machine, dict)]


def _rows(machine: Any) -> list[Mapping[str, Any]]:
    rows = machine.get("statistics") if isinstance(machine, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _interval(row: Mapping[str, Any], machine: Mapping[str, Any], left_out: ImpossibleValues) -> SarInterval | None:
    stamp = row.get("timestamp")
    if stamp is None:
        return None
    where = f"{stamp.get('date')} {stamp.get('time')}" if isinstance(stamp, dict) else f"{stamp!r:.60}"
    seconds = number(stamp.get("interval")) if isinstance(stamp, dict) else None
    if seconds == 0:
        # The first row after a start of sar has no interval yet.
        return None
    if seconds is None or not 1 <= seconds <= LONGEST_S:
        value = stamp.get("interval") if isinstance(stamp, dict) else None
        left_out.add(where, f"an interval of {value!r:.40} s is none, and was left out")
        return None
    try:
        moment = datetime.fromisoformat(f"{stamp['date']}T{stamp['time']}").replace(tzinfo=UTC)
    except (ValueError, KeyError):
        left_out.add(where, "this is not a time, and the interval was left out")
        return None
    end_ns, length = round(moment.timestamp()) * 10**9, int(seconds)
    if end_ns < length * 10**9:
        left_out.add(where, "the interval begins before 1970, and was left out")
        return None
    cpus = machine.get("number-of-cpus")
    cpus = cpus if type(cpus) is int and 1 <= cpus <= MOST_CPUS else None
    return SarInterval(
        end_ns - length * 10**9,
        end_ns,
        amounts(row, cpus, length, where, left_out),
        cpus,
        queue(row, where, left_out),
    )


def loads(intervals: Sequence[SarInterval], runs: Iterable[Run]) -> list[Load]:
    """Return a Load for each group of neighbouring runs that touched the same intervals; runs outside of all have none.

    Intervals are in order of time, and runs, which are read once, by `seq`. A run has a Load only when the intervals
    cover all of it without a gap.
    """
    result = []
    begins_ns, ends_ns = [interval.begin_ns for interval in intervals], [interval.end_ns for interval in intervals]

    def touched(run: Run) -> tuple[int, int] | None:
        """Return the indices of the first and the last interval of a run; None when a part of the run lies in none."""
        # The length of an imported run may be unknown: then it has the load of the interval in which it began.
        end_ns = run.started_ns + (run.wall_ns or 1)
        first, last = bisect_right(ends_ns, run.started_ns), bisect_left(begins_ns, end_ns) - 1
        if first > last:
            return None
        gaps = any(begins_ns[i + 1] - ends_ns[i] > ROUNDING_NS for i in range(first, last))
        whole = begins_ns[first] <= run.started_ns and ends_ns[last] >= end_ns
        return (first, last) if whole and not gaps else None

    for place, group in groupby(runs, key=touched):
        if place is not None:
            seqs = [run.seq for run in group]
            result.append(_load(intervals[place[0] : place[1] + 1], seqs[0], seqs[-1]))
    return result


def _load(part: Sequence[SarInterval], first: int, last: int) -> Load:
    total_ns = sum(interval.length_ns for interval in part)
    queues = [interval.queue for interval in part]
    known = [queue for queue in queues if queue is not None]
    fields: dict[str, Any] = {}
    for name in {name for interval in part for name in interval.amounts}:
        values = [interval.amounts.get(name) for interval in part]
        fields[name] = None if None in values else round(math.fsum(value for value in values if value is not None))
    if len(known) == len(part):
        # Each value is a single reading at the end of its interval, and includes sar's own process.
        fields["queue"] = math.fsum(q * interval.length_ns for q, interval in zip(known, part, strict=True)) / total_ns
        fields["queue_peak"] = round(max(known))
        fields["samples"] = len(known)
    return Load(first, last, part[0].begin_ns, total_ns, part[0].cpus, **fields)
