"""The noun Others: the CPU time, the moved bytes and the growth of each other process around runs, in intervals.

It has the form of the agent's `others` event (docs/reference/protocol.md). An interval ends between runs; a long run
has further readings within. Unknown is None, never zero.

Public: ProcessUse, Mover, MemoryChange, OthersReading, QuotaCounts, CountedWaits, NetworkTraffic, Others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import structs


class ProcessUse(msgspec.Struct, frozen=True):
    """An amount that a process used, or several ended ones of one name (`pid` None).

    `group`: its control group without the leading slash; empty for the root, or where unknown. `amount`: CPU time or a
    wait in ns, or bytes, as whoever has the list says.
    """

    pid: int | None
    name: str
    group: str
    amount: int
    count: int = 1


class Mover(msgspec.Struct, frozen=True):
    """A process that moved bytes from and to storage; `group` as in a ProcessUse."""

    pid: int
    name: str
    group: str
    read_bytes: int
    written_bytes: int


class MemoryChange(msgspec.Struct, frozen=True):
    """The memory that a process holds more than at the previous reading, negative where less; `group` as in a
    ProcessUse."""

    pid: int
    name: str
    group: str
    change_bytes: int


class OthersReading(msgspec.Struct, frozen=True):
    """The CPU time that others used since the previous reading, the largest first.

    - `rest_ns`: CPU time of processes that are not listed
    - `elsewhere_ns`: CPU time of processes that may use none of the programs' CPUs
    - `exec_ns`, `wait_ns`: CPU time and run-queue wait of the running program's living processes; None between runs
    - `movers`: processes that moved bytes, the largest first
    - `unread`: the number of processes that ran and whose traffic may not be read
    - `memory_changes`: the processes whose memory changed, the largest change first
    """

    interval_ns: int
    taken: tuple[ProcessUse, ...]
    rest_ns: int = 0
    elsewhere_ns: int = 0
    exec_ns: int | None = None
    wait_ns: int | None = None
    movers: tuple[Mover, ...] = ()
    unread: int = 0
    memory_changes: tuple[MemoryChange, ...] = ()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> OthersReading:
        """Return a reading from its JSON form. Raises KeyError, TypeError or ValueError."""
        taken = tuple(_process_use(*row) for row in value["taken"])
        exec_ns, wait_ns = (None if value.get(name) is None else int(value[name]) for name in ("exec_ns", "wait_ns"))
        rest_ns, elsewhere_ns = int(value["rest_ns"]), int(value["elsewhere_ns"])
        movers = tuple(_mover(*row) for row in value.get("movers", ()))
        unread = int(value.get("unread", 0))
        changes = tuple(_memory_change(*row) for row in value.get("memory_changes", ()))
        return cls(int(value["interval_ns"]), taken, rest_ns, elsewhere_ns, exec_ns, wait_ns, movers, unread, changes)

    def to_json(self) -> dict[str, Any]:
        """Return the form that `from_json` reads."""
        own = {} if self.wait_ns is None else {"exec_ns": self.exec_ns, "wait_ns": self.wait_ns}
        return {
            "interval_ns": self.interval_ns,
            "rest_ns": self.rest_ns,
            "elsewhere_ns": self.elsewhere_ns,
            **own,
            "taken": [list(structs.astuple(use)) for use in self.taken],
            "movers": [list(structs.astuple(mover)) for mover in self.movers],
            "unread": self.unread,
            "memory_changes": [list(structs.astuple(change)) for change in self.memory_changes],
        }


class QuotaCounts(msgspec.Struct, frozen=True):
    """The counts of a control group's quota: the periods in which it had work, and those in which it was throttled.

    `group`: with the leading slash; `cpus`: the quota in CPUs.
    """

    group: str
    cpus: float
    periods: int
    throttled: int
    throttled_ns: int


class CountedWaits(msgspec.Struct, frozen=True):
    """The times for which tasks of the programs waited for a CPU, by who ran on it, counted in the kernel, ns.

    - `taken`: the processes that ran, the longest first, with the time as `amount`
    - `rest_ns`: the processes that are not listed
    - `own_ns`: other tasks of the programs
    - `idle_ns`: nobody: the CPU was about to take the task, or a quota held it back
    - `unknown_ns`: tasks before those that the kernel's log holds, or more processes than its table holds
    """

    taken: tuple[ProcessUse, ...]
    rest_ns: int
    own_ns: int
    idle_ns: int
    unknown_ns: int

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CountedWaits:
        """Return it from its JSON form. Raises KeyError, TypeError or ValueError."""
        taken = tuple(_process_use(*row) for row in value["taken"])
        return cls(taken, *(int(value[name]) for name in ("rest_ns", "own_ns", "idle_ns", "unknown_ns")))

    def to_json(self) -> dict[str, Any]:
        """Return the form that `from_json` reads."""
        return {**structs.asdict(self), "taken": [list(structs.astuple(use)) for use in self.taken]}


class NetworkTraffic(msgspec.Struct, frozen=True):
    """The bytes sent and received over the network, counted in the kernel, without those of the machine to itself.

    - `movers`: the processes that moved most; `read_bytes` were received, `written_bytes` sent
    - `rest_bytes`: bytes of all processes that are not listed
    - `own`: bytes that the programs received and sent
    """

    movers: tuple[Mover, ...]
    rest_bytes: int
    own: tuple[int, int]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> NetworkTraffic:
        """Return it from its JSON form. Raises KeyError, TypeError or ValueError."""
        received, sent = value["own"]
        movers = tuple(_mover(*row) for row in value["movers"])
        return cls(movers, int(value["rest_bytes"]), (int(received), int(sent)))

    def to_json(self) -> dict[str, Any]:
        """Return the form that `from_json` reads."""
        movers = [list(structs.astuple(mover)) for mover in self.movers]
        return {"movers": movers, "rest_bytes": self.rest_bytes, "own": list(self.own)}


class Others(msgspec.Struct, frozen=True):
    """The CPU time that others used around the runs `first` to `last`, by reading; None is unknown.

    `quotas`: of the control groups around the programs, from the innermost to the root. `own_traffic`: bytes that the
    programs read and wrote, including children that they waited for. `disks`: the disks that moved anything. `waits`:
    whom the programs waited for, and `network`: who used the network, where these were counted.
    """

    first: int
    last: int
    readings: tuple[OthersReading, ...]
    quotas: tuple[QuotaCounts, ...] = ()
    own_traffic: tuple[int, int] | None = None
    disks: int | None = None
    waits: CountedWaits | None = None
    network: NetworkTraffic | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Others:
        """Return the value for the agent's event or an exported file. Raises KeyError, TypeError or ValueError."""
        readings = tuple(OthersReading.from_json(reading) for reading in value["readings"])
        quotas = tuple(_quota(*row) for row in value.get("quotas", ()))
        own, disks = value.get("own_traffic"), value.get("disks")
        own_traffic = None if own is None else (int(own[0]), int(own[1]))
        disks = None if disks is None else int(disks)
        waits = None if value.get("waits") is None else CountedWaits.from_json(value["waits"])
        network = None if value.get("network") is None else NetworkTraffic.from_json(value["network"])
        return cls(int(value["first"]), int(value["last"]), readings, quotas, own_traffic, disks, waits, network)

    def to_json(self) -> dict[str, Any]:
        """Return the form that `from_json` reads."""
        readings = [reading.to_json() for reading in self.readings]
        quotas = {"quotas": [list(structs.astuple(quota)) for quota in self.quotas]} if self.quotas else {}
        own = {} if self.own_traffic is None else {"own_traffic": list(self.own_traffic)}
        disks = {} if self.disks is None else {"disks": self.disks}
        waits = {} if self.waits is None else {"waits": self.waits.to_json()}
        network = {} if self.network is None else {"network": self.network.to_json()}
        whole = {"first": self.first, "last": self.last, "readings": readings}
        return {**whole, **quotas, **own, **disks, **waits, **network}


def _mover(pid: Any, name: object, group: object, *counts: Any) -> Mover:
    if not isinstance(name, str) or not isinstance(group, str) or len(counts) != 2:
        raise ValueError(f"a process cannot be {(pid, name, group, *counts)!r}")
    return Mover(int(pid), name, group, *map(int, counts))


def _memory_change(pid: Any, name: object, group: object, change: Any) -> MemoryChange:
    if not isinstance(name, str) or not isinstance(group, str):
        raise ValueError(f"a process cannot be {(pid, name, group, change)!r}")
    return MemoryChange(int(pid), name, group, int(change))


def _quota(group: object, cpus: Any, *counts: Any) -> QuotaCounts:
    if not isinstance(group, str) or len(counts) != 3:
        raise ValueError(f"a quota cannot be {(group, cpus, *counts)!r}")
    return QuotaCounts(group, float(cpus), *map(int, counts))


def _process_use(pid: object, name: object, group: object, amount: Any, count: Any = 1) -> ProcessUse:
    known = isinstance(name, str) and isinstance(group, str) and (pid is None or type(pid) is int)
    if not known or not isinstance(name, str) or not isinstance(group, str):
        raise ValueError(f"a process cannot be {(pid, name, group)!r}")
    return ProcessUse(pid if type(pid) is int else None, name, group, int(amount), int(count))
