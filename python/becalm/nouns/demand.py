"""The nouns Demand and LoadResult: the load to make, and the load that was made.

`becalm-agent load` (crates/becalm-core/src/stress) reads a Demand as JSON and answers with the result.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from becalm.errors import UsageError
from becalm.nouns.codec import decode
from becalm.nouns.option import option, parse_keywords, refuse_unknown
from becalm.units import cpu_list, size_bytes

if TYPE_CHECKING:
    from becalm.nouns.keywords import DemandKeywords


@dataclass(frozen=True, slots=True)
class Demand:
    """The load to make, by kind. Zero and None mean no load of that kind."""

    cpu: float = option(
        0.0,
        "Keep N CPUs busy (2.5: the third one half), at most 8 times the CPUs.",
        float,
        shown="none",
        metavar="N",
        least=0,
    )
    nice: int | None = option(None, "Nice value of the load.", int | None, metavar="N", shown="yours")
    cpus: tuple[int, ...] | None = option(
        None,
        "Bind the load to these CPUs: 0,2-3.",
        str | Sequence[int] | None,
        metavar="LIST",
        parse=cpu_list,
    )
    memory_bytes: int | None = option(
        None,
        "Keep writing to this much memory; needs --limit.",
        float | str | None,
        name="memory",
        unit="bytes",
        metavar="SIZE",
        parse=size_bytes,
    )
    limit_bytes: int | None = option(
        None,
        "Memory that the load may use; the rest is swapped out.",
        float | str | None,
        name="limit",
        unit="bytes",
        metavar="SIZE",
        parse=size_bytes,
    )
    disk_directory: str | None = option(
        None, "Write to the disk of this directory.", str | None, name="disk", metavar="DIR", parse=os.path.abspath
    )
    disk_rate: float | None = option(
        None,
        "Bytes per second to the disk.",
        float | str | None,
        name="rate",
        unit="bytes/s",
        metavar="SIZE",
        shown="as fast as it goes",
        parse=size_bytes,
    )
    network_rate: float | None = option(
        None,
        "Bytes per second through a TCP connection over loopback.",
        float | str | None,
        name="network",
        unit="bytes/s",
        metavar="SIZE",
        parse=size_bytes,
    )
    syscalls: int = option(0, "Processes that only make system calls, at most 8 per CPU.", int, metavar="N", least=0)
    session: str = option(
        "same",
        "Run in the terminal's session or in a new one (matters with autogroup).",
        str,
        choices=("same", "new"),
    )

    @classmethod
    def of(cls, **keywords: Unpack[DemandKeywords]) -> Demand:
        """Return the Demand for keyword arguments, whose amounts may be texts such as "512M". Raises UsageError."""
        refuse_unknown(keywords, Demand)
        return cls(**parse_keywords(cls, keywords))

    @property
    def empty(self) -> bool:
        """Whether there is no load of any kind."""
        return not self.to_json().keys() - {"nice", "cpus", "session"}

    def to_json(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, in the form of the agent.

        Raises UsageError for a number that is not finite.
        """
        fields = ((field.name, getattr(self, field.name), field.default) for field in dataclasses.fields(self))
        changed = {name: value for name, value, default in fields if value != default}
        for name, value in changed.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise UsageError(f"{name} of a load must be a finite number, not {value}.")
        return changed

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Demand:
        """Return the Demand that `to_json` wrote."""
        return decode(cls, value)


class Share(msgspec.Struct, frozen=True):
    """The work of one process of a load while all processes were up; None is unknown.

    `requested`, `done`: the amounts of work in `unit` (bytes, calls).
    """

    kind: str
    unit: str
    requested: float | None
    done: int
    cpu_ns: int | None
    wait_ns: int | None
    """The time for which it was ready to run and waited for a processor, ns."""


def _share(row: Mapping[str, Any]) -> Share:
    """Return the share of a row of the agent's last line."""
    return Share(**{"requested" if key == "asked" else key: value for key, value in row.items()})


class LoadResult(msgspec.Struct, frozen=True):
    """The result of making a load."""

    reason: str
    """The reason why it ended: time, command, signal, failure."""
    wall_ns: int
    shares: tuple[Share, ...]
    swapped_out_bytes: int | None
    """The bytes that the whole machine swapped out while the load was up."""
    failure: str | None
    """The reason why a process of the load ended early; None when none did."""
    sentence: str
    status: int | None = None
    """The exit code of the command, or minus the signal that ended it; None without a command."""
    command_ns: int | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LoadResult:
        """Return the value for the agent's last line."""
        command = value["command"] or {}
        return cls(
            reason=value["reason"],
            wall_ns=value["wall_ns"],
            shares=tuple(_share(share) for share in value["shares"]),
            swapped_out_bytes=value["swapped_out_bytes"],
            failure=value["failure"],
            sentence=value["sentence"],
            status=command.get("status"),
            command_ns=command.get("wall_ns"),
        )

    def done(self, kind: str) -> int:
        """Return the work of all processes of a kind, in its unit."""
        return sum(share.done for share in self.shares if share.kind == kind)

    def cpu_ns(self, kind: str) -> int | None:
        """Return the CPU time of all processes of a kind, ns; None when one is unknown."""
        times = [share.cpu_ns for share in self.shares if share.kind == kind]
        return None if None in times else sum(time for time in times if time is not None)
