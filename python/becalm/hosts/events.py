"""The events of a host while it measures, in their order in time, as `Host.measure` yields them.

Runs come in batches as they end. The output of a program comes before its run, other load of the machine after the runs
to which it belongs, and observations about settings at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from becalm.load.others import Others
    from becalm.load.record import Load, Series
    from becalm.nouns.demand import LoadResult
    from becalm.nouns.run import Run


class Runs(msgspec.Struct, frozen=True):
    """Finished runs, in the order of execution."""

    rows: Sequence[Run]


class RunText(msgspec.Struct, frozen=True):
    """The stored output of the run `seq`: the end of its standard error, and its standard output."""

    seq: int
    stderr: str
    stdout: str


class Written(msgspec.Struct, frozen=True):
    """The output of a program to be passed on (`Output.INHERIT`); `stream`: "stdout" or "stderr"."""

    stream: str
    text: str


class Loads(msgspec.Struct, frozen=True):
    """The other load of the machine during earlier runs: in total, over time if requested, and by process."""

    loads: Sequence[Load] = ()
    series: Sequence[Series] = ()
    others: Sequence[Others] = ()


class Noticed(msgspec.Struct, frozen=True):
    """Observations about the settings of steps. A block that needs several boots has such an event for each.

    - `remarks`: on applying the settings
    - `drift`: places that others changed
    - `switching_ns`: time spent applying and restoring settings, ns
    - `unknown`: reasons why columns of the loads (`becalm.load`) and other facts are unknown, by name
    - `clamped`: places to which the kernel gave another value than requested
    - `neighbours`: what processes next to programs did, as the agent reports it (docs/reference/protocol.md, `measure`)
    """

    remarks: tuple[str, ...] = ()
    drift: tuple[Mapping[str, str], ...] = ()
    switching_ns: int = 0
    unknown: Mapping[str, str] = msgspec.field(default_factory=dict)
    clamped: tuple[Mapping[str, str], ...] = ()
    neighbours: tuple[Mapping[str, Any], ...] = ()


class LoadMade(msgspec.Struct, frozen=True):
    """The load that was really made during a block (`Block.alongside`)."""

    load: LoadResult


class OfRecording(msgspec.Struct, frozen=True):
    """An event of a recording (`becalm.hosts.recorded` lists them)."""


Event = Runs | RunText | Written | Loads | Noticed | LoadMade | OfRecording


def runs_of(events: Iterable[Event]) -> Iterator[Run]:
    """Yield the runs among some events."""
    for event in events:
        if isinstance(event, Runs):
            yield from event.rows
