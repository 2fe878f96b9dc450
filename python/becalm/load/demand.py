"""Load that is wanted, and load that was made: the nouns Demand and Made.

`becalm-agent load` (crates/becalm-core/src/stress) takes a Demand as JSON and answers with what became of it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from becalm.errors import UsageError
from becalm.units import size_bytes


@dataclass(frozen=True, slots=True)
class Demand:
    """How much load of which kind. Zero and None: none of that."""

    cpu: float = 0.0
    """Processors to keep busy: 2.5 are two spinners and one that runs half of the time."""
    nice: int | None = None
    cpus: tuple[int, ...] | None = None
    """Processors that all load is bound to; None: any."""
    memory_bytes: int | None = None
    """Written to again and again, by a process in a control group that has `limit_bytes` of memory."""
    limit_bytes: int | None = None
    disk_directory: str | None = None
    disk_rate: float | None = None
    """Bytes per second; None: as fast as it goes."""
    network_rate: float | None = None
    """Bytes per second through a TCP connection over the loopback interface."""
    syscalls: int = 0
    """Processes that do nothing but call the kernel."""
    session: str = "same"
    """"same" or "new": whether the load has a session, and so with autogroup a share of the processors, of its own."""

    @classmethod
    def of(
        cls,
        *,
        memory: str | float | None = None,
        limit: str | float | None = None,
        disk: str | os.PathLike[str] | None = None,
        rate: str | float | None = None,
        network: str | float | None = None,
        **rest: Any,
    ) -> Demand:
        """A Demand from amounts as people write them: "512M", "50M". Raises UsageError."""
        sizes = {"memory_bytes": memory, "limit_bytes": limit, "disk_rate": rate, "network_rate": network}
        made = {name: size_bytes(value) for name, value in sizes.items() if value is not None}
        if disk is not None:
            made["disk_directory"] = os.path.abspath(disk)  # type: ignore[assignment]
        try:
            return cls(**made, **rest)  # type: ignore[arg-type]
        except TypeError as error:
            raise UsageError(f"This is no load: {error}.") from None

    @property
    def empty(self) -> bool:
        """Whether nothing is asked for."""
        return not self.to_json().keys() - {"nice", "cpus", "session"}

    def to_json(self) -> dict[str, Any]:
        """What differs from no load at all, as the agent takes it."""
        fields = ((each.name, getattr(self, each.name), each.default) for each in dataclasses.fields(self))
        return {name: value for name, value, default in fields if value != default}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Demand:
        """The Demand that was written by `to_json`."""
        cpus = value.get("cpus")
        return cls(**{**value, "cpus": None if cpus is None else tuple(cpus)})


@dataclass(frozen=True, slots=True)
class Share:
    """What one process of a load did while all of it was up; `done` in `unit` (bytes, calls). None is unknown."""

    kind: str
    unit: str
    asked: float | None
    done: int
    cpu_ns: int | None
    wait_ns: int | None
    """Time ready to run, but waiting for a processor."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a load really did."""

    reason: str
    """Why it ended: time, command, signal, failure."""
    wall_ns: int
    shares: tuple[Share, ...]
    swapped_out_bytes: int | None
    """Of the whole machine meanwhile."""
    failure: str | None
    """Why a process of the load ended before its time."""
    sentence: str
    status: int | None = None
    """Exit code of the command, or minus the signal that ended it; None without a command."""
    command_ns: int | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Made:
        """From the agent's last line."""
        command = value["command"] or {}
        return cls(
            reason=value["reason"],
            wall_ns=value["wall_ns"],
            shares=tuple(Share(**each) for each in value["shares"]),
            swapped_out_bytes=value["swapped_out_bytes"],
            failure=value["failure"],
            sentence=value["sentence"],
            status=command.get("status"),
            command_ns=command.get("wall_ns"),
        )

    def done(self, kind: str) -> int:
        """What all processes of a kind did, in its unit."""
        return sum(share.done for share in self.shares if share.kind == kind)

    def cpu_ns(self, kind: str) -> int | None:
        """CPU time of all processes of a kind; None when one is unknown."""
        times = [share.cpu_ns for share in self.shares if share.kind == kind]
        return None if None in times else sum(each for each in times if each is not None)
