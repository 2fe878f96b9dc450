"""The record of the agent's counts during a run, or several short ones in a row: the nouns Load and Series.

A Load covers the runs `first` to `last` of a study. Counters of the whole machine are exact differences over
`interval_ns`, states are means of samples, and counts of the programs themselves are sums over their runs. None is
unknown, never zero. The columns are rows of the engine's table: those of the agent's `loads` event, of `read` and
`follow` (docs/reference/protocol.md), and of the store.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from becalm.nouns.tables import LoadColumn, load_columns


class Load(NamedTuple):
    """Load around the runs `first` to `last` (sequence numbers of one study, both included).

    The fields are the engine's columns, in their order (`becalm.nouns.tables.load_columns`, docs/reference/columns.md;
    each field has its own docstring). Units are in the names; `*_ns` of the machine are summed over its CPUs. Most
    fields from `level` on are of the programs themselves, or of the part of them that `scope` names.
    """

    first: int
    last: int
    started_ns: int
    interval_ns: int
    cpus: int | None = None
    busy_ns: int | None = None
    idle_ns: int | None = None
    iowait_ns: int | None = None
    irq_ns: int | None = None
    softirq_ns: int | None = None
    steal_ns: int | None = None
    queue: float | None = None
    queue_peak: int | None = None
    samples: int = 0
    swap_out_bytes: int | None = None
    swap_in_bytes: int | None = None
    refaults: int | None = None
    direct_reclaims: int | None = None
    major_faults: int | None = None
    disk_read_bytes: int | None = None
    disk_write_bytes: int | None = None
    disk_busy_ns: int | None = None
    net_in_bytes: int | None = None
    net_out_bytes: int | None = None
    net_packets: int | None = None
    net_errors: int | None = None
    loopback_bytes: int | None = None
    nfs_calls: int | None = None
    nfs_retransmissions: int | None = None
    pressure_cpu_ns: int | None = None
    pressure_io_ns: int | None = None
    pressure_memory_ns: int | None = None
    interrupts: int | None = None
    switches: int | None = None
    frequency_khz: int | None = None
    throttled: int | None = None
    level: int = 0
    scope: str = "leader"
    exec_ns: int | None = None
    wait_ns: int | None = None
    block_ns: int | None = None
    swapin_ns: int | None = None
    reclaim_ns: int | None = None
    thrashing_ns: int | None = None
    compact_ns: int | None = None
    copy_ns: int | None = None
    irq_delay_ns: int | None = None
    quota_ns: int | None = None
    own_cpu_pressure_ns: int | None = None
    own_io_pressure_ns: int | None = None
    own_memory_pressure_ns: int | None = None
    tasks: int | None = None
    lost: int | None = None
    cost_ns: int | None = None
    system_ns: int | None = None
    disk_transfers: int | None = None
    net_mtu_bytes: int | None = None
    device_interrupts: int | None = None
    softirqs_timer: int | None = None
    softirqs_network: int | None = None
    softirqs_block: int | None = None
    softirqs_scheduler: int | None = None
    softirqs_rcu: int | None = None
    cycles: int | None = None
    instructions: int | None = None
    counters_enabled_ns: int | None = None
    counters_running_ns: int | None = None
    counters_scope: str | None = None
    own_cpus: int | None = None
    own_cpus_busy_ns: int | None = None
    own_cpus_steal_ns: int | None = None

    @property
    def confined(self) -> bool:
        """Whether the programs could use only some of the machine's CPUs, as far as that was recorded."""
        return self.own_cpus is not None and self.cpus is not None and self.own_cpus < self.cpus


LOAD_COLUMNS = Load._fields

for _column in load_columns():
    getattr(Load, _column.name).__doc__ = f"{_column.meaning} ({_column.unit or _column.form}, {_column.kind})"

TICK_NS = 10_000_000
"""The length of a tick, the kernel's unit of CPU time (proc(5)): USER_HZ is 100 on every present architecture
(include/asm-generic/param.h). CPU times of an interval are uncertain by one tick on each CPU."""

_KINDS: Mapping[str, tuple[type, ...]] = {"integer": (int,), "real": (int, float), "word": (str,)}


def load_of(columns: Sequence[str], row: Sequence[Any]) -> Load:
    """Return a record for values by the names of their columns, as the agent and files have them.

    Columns of a newer becalm are left out; columns that an older one lacks are unknown. Raises ValueError for a value
    of another type or not finite, and KeyError for a missing value that is always known.
    """
    cells = dict(zip(columns, row, strict=True))
    values: dict[str, Any] = {}
    for column in load_columns():
        if column.name not in cells and not column.always:
            continue
        value = values[column.name] = cells[column.name]
        known = type(value) in _KINDS[column.form] and (not isinstance(value, float) or math.isfinite(value))
        if not known and (value is not None or column.always):
            raise ValueError(f"{column.name} of a load cannot be {value!r}")
    return Load(**values)


def pooled(loads: Sequence[Load]) -> Load:
    """Return several records as one, each column pooled in the way that its row states. Raises ValueError for none.

    A value that is unknown in one record is unknown in the result. Samples are an exception: an interval that was too
    short for a sample is left out of the mean.
    """
    if not loads:
        raise ValueError("Nothing to pool.")
    lengths = [max(load.interval_ns, 1) for load in loads]
    return Load(**{column.name: _pooled(column, loads, lengths) for column in load_columns()})


def _pooled(column: LoadColumn, loads: Sequence[Load], lengths: Sequence[int]) -> Any:
    values = [getattr(load, column.name) for load in loads]
    pairs = [(value, length) for value, length in zip(values, lengths, strict=True) if value is not None]
    sampled = column.source == "loadavg"
    if column.pooling == "first":
        return values[0]
    if not pairs or (len(pairs) < len(values) and not sampled):
        return None
    match column.pooling:
        case "sum":
            return sum(value for value, _ in pairs)
        case "max":
            return max(value for value, _ in pairs)
        case "min":
            return min(value for value, _ in pairs)
        case "mean":
            mean = math.fsum(value * length for value, length in pairs) / sum(length for _, length in pairs)
            return round(mean) if column.form == "integer" else mean


class Series(msgspec.Struct, frozen=True):
    """The load over time during the run `first` (to `last`). Rows are (time in ns since the start, values…).

    The first row is the beginning. `queue` and `frequency_khz` are states at a row's time; the others are columns of
    Load, as differences since the previous row (None in the first row).
    """

    first: int
    last: int
    names: tuple[str, ...]
    rows: tuple[tuple[float | None, ...], ...]
    dropped: int = 0
    """Samples that were lost because nobody fetched them in time."""
    skipped: int = 0
    """Samples that were left out because sampling had used up its share of time, or the thread woke late."""
    consumers: tuple[Mapping[str, int | str], ...] = msgspec.field(default=())
    """Other processes that used most CPU time meanwhile: `pid`, `name`, `cpu_ns`. In a series of a program's memory:
    the program's processes with the most memory at its peak: `pid`, `name`, `resident_bytes`. The largest first."""
    interrupts: tuple[Mapping[str, int | str], ...] = msgspec.field(default=())
    """The devices that interrupted the CPUs most often: `name` as in /proc/interrupts, `count`; the largest first."""
    cost_ns: int = 0
    """CPU time of taking the samples, where it is known."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Series:
        """Return a series from the agent's `series` event or an exported file. Raises KeyError, TypeError or
        ValueError."""
        names = tuple(str(name) for name in value["names"])
        rows = tuple(tuple(row) for row in value["rows"])
        for row in rows:
            if len(row) != len(names) + 1 or not all(map(_number_or_unknown, row)):
                raise ValueError(f"a row of a series cannot be {row!r}")
        first, last, dropped, skipped = (int(value[name]) for name in ("first", "last", "dropped", "skipped"))
        # The series of a program's memory has no interrupts.
        consumers, interrupts = (
            tuple(dict(row) for row in value.get(what, ())) for what in ("consumers", "interrupts")
        )
        cost_ns = int(value.get("cost_ns", 0))
        return cls(first, last, names, rows, dropped, skipped, consumers, interrupts, cost_ns)

    def to_json(self) -> dict[str, Any]:
        """Return the form that `from_json` reads."""
        return {
            "first": self.first,
            "last": self.last,
            "names": list(self.names),
            "rows": [list(row) for row in self.rows],
            "dropped": self.dropped,
            "skipped": self.skipped,
            "consumers": [dict(consumer) for consumer in self.consumers],
            "interrupts": [dict(interrupt) for interrupt in self.interrupts],
            **({"cost_ns": self.cost_ns} if self.cost_ns else {}),
        }


def _number_or_unknown(value: object) -> bool:
    return value is None or type(value) is int or (type(value) is float and math.isfinite(value))
