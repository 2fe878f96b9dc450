"""What the agent counted while a run, or several short ones in a row, took place: the noun Load, and Series.

A Load covers the runs `first` to `last` of a study. Counters of the whole machine are exact differences over
`interval_ns`, states are means of samples, and what the programs themselves did is summed over their runs. None is
unknown, never zero. The columns are those of the agent's `loads` event (docs/reference/protocol.md) and of the store's
table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Load(NamedTuple):
    """Load around the runs `first` to `last` (sequence numbers of one study, both included).

    Units are in the names; `*_ns` of the machine are summed over its CPUs. The last block belongs to the programs
    themselves: `scope` says of how much of them it is true ("leader": the first thread only; "group": all threads of
    the first process; "tree": it and all its descendants), `level` how much the kernel let be known (0: rusage only,
    1: schedstat and PSI, 2: taskstats without delay accounting, 3: taskstats with it).
    """

    first: int
    last: int
    started_ns: int
    """Unix time of the beginning of the interval, ns."""
    interval_ns: int
    cpus: int | None = None
    """CPUs online."""
    busy_ns: int | None = None
    """User, nice and system time of all CPUs, interrupts and steal left out."""
    idle_ns: int | None = None
    """Idle, waiting for I/O included."""
    iowait_ns: int | None = None
    irq_ns: int | None = None
    softirq_ns: int | None = None
    steal_ns: int | None = None
    queue: float | None = None
    """Mean number of runnable tasks over the samples, the sampler itself left out."""
    queue_peak: int | None = None
    samples: int = 0
    swap_out_bytes: int | None = None
    """Paged out: pswpout and zswpout, times the page size. Not pgpgout, which is all block output."""
    swap_in_bytes: int | None = None
    refaults: int | None = None
    """Pages that were read again soon after they had been dropped."""
    direct_reclaims: int | None = None
    """How often a program had to free memory itself before it got some (allocstall)."""
    major_faults: int | None = None
    disk_read_bytes: int | None = None
    disk_write_bytes: int | None = None
    disk_busy_ns: int | None = None
    net_in_bytes: int | None = None
    """All interfaces but loopback."""
    net_out_bytes: int | None = None
    net_packets: int | None = None
    net_errors: int | None = None
    """Errors, drops and collisions."""
    loopback_bytes: int | None = None
    nfs_calls: int | None = None
    nfs_retransmissions: int | None = None
    pressure_cpu_ns: int | None = None
    """PSI "some" of the whole machine: time in which at least one task waited."""
    pressure_io_ns: int | None = None
    pressure_memory_ns: int | None = None
    interrupts: int | None = None
    switches: int | None = None
    """Context switches of the whole machine."""
    frequency_khz: int | None = None
    throttled: int | None = None
    """Thermal throttling events."""

    level: int = 0
    scope: str = "leader"
    exec_ns: int | None = None
    """CPU time of the programs, by the scheduler's clock."""
    wait_ns: int | None = None
    """Time on the run queue, ready but not running."""
    block_ns: int | None = None
    """Waiting for block I/O; needs delay accounting, as the next ones do."""
    swapin_ns: int | None = None
    reclaim_ns: int | None = None
    thrashing_ns: int | None = None
    compact_ns: int | None = None
    copy_ns: int | None = None
    """Waiting for copies of write-protected pages."""
    irq_delay_ns: int | None = None
    quota_ns: int | None = None
    """Time in which a CPU quota of the own control group kept the programs from running."""
    own_cpu_pressure_ns: int | None = None
    """PSI "some" of the own control group, where it has one."""
    own_io_pressure_ns: int | None = None
    own_memory_pressure_ns: int | None = None
    tasks: int | None = None
    """Threads and processes that the sums are of."""
    lost: int | None = None
    """Ends of processes that the kernel could not tell (overflow): the sums are too small when this is not 0."""
    cost_ns: int | None = None
    """CPU time that observing took in this interval, the sampler's thread included."""


LOAD_COLUMNS = Load._fields

TICK_NS = 10_000_000
"""A tick, in which the kernel tells CPU time (proc(5)): USER_HZ is 100 on every architecture of today
(include/asm-generic/param.h). So much of an interval is not known on each CPU."""

_OWN_KINDS: Mapping[str, tuple[type, ...]] = {"queue": (int, float), "scope": (str,)}
_KNOWN = ("first", "last", "started_ns", "interval_ns", "samples", "level", "scope")


def load_of(columns: Sequence[str], row: Sequence[Any]) -> Load:
    """A record from its values by the names of their columns, as the agent and files give them.

    Columns of a newer becalm are left out, those that an older one lacks are unknown. Raises ValueError when a value
    is of another kind, KeyError when one is missing that is always known.
    """
    given = dict(zip(columns, row, strict=True))
    values = {name: given[name] for name in LOAD_COLUMNS if name in given or name in _KNOWN}
    for name, value in values.items():
        kinds = _OWN_KINDS.get(name, (int,))
        if type(value) not in kinds and not (value is None and name not in _KNOWN):
            raise ValueError(f"{name} of a load cannot be {value!r}")
    return Load(**values)


@dataclass(frozen=True, slots=True)
class Series:
    """The load over time while the run `first` (to `last`) took place. Rows are (time in ns since the start, values…).

    The first row is the beginning. `queue` and `frequency_khz` are states at a row's time; the others are columns of
    Load, and tell how far that counter moved since the row before (None in the first row).
    """

    first: int
    last: int
    names: tuple[str, ...]
    rows: tuple[tuple[float | None, ...], ...]
    dropped: int = 0
    """Samples that could not be kept because nobody fetched them in time."""
    skipped: int = 0
    """Samples that were left out because sampling had used up its share, or the thread woke late."""
    consumers: tuple[Mapping[str, int | str], ...] = field(default=())
    """Other processes that used most CPU time meanwhile: `pid`, `name`, `cpu_ns`; first the largest."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Series:
        """A series from the agent's `series` event or an exported file. Raises KeyError, TypeError or ValueError."""
        names = tuple(str(name) for name in value["names"])
        rows = tuple(tuple(row) for row in value["rows"])
        for row in rows:
            if len(row) != len(names) + 1 or any(type(each) not in (int, float, type(None)) for each in row):
                raise ValueError(f"a row of a series cannot be {row!r}")
        first, last, dropped, skipped = (int(value[name]) for name in ("first", "last", "dropped", "skipped"))
        return cls(first, last, names, rows, dropped, skipped, tuple(dict(each) for each in value["consumers"]))

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads back."""
        return {
            "first": self.first,
            "last": self.last,
            "names": list(self.names),
            "rows": [list(row) for row in self.rows],
            "dropped": self.dropped,
            "skipped": self.skipped,
            "consumers": [dict(each) for each in self.consumers],
        }


LoadSink = Callable[[Sequence[Load], Sequence[Series]], None]
"""Takes what was recorded of finished runs."""
