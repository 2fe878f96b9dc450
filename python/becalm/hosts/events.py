"""The events of a host while it measures: one value an event, in the order in which things happen.

`Host.measure` yields them. Runs come in batches as they end; what a program wrote comes before its run, what else the
machine did after the runs it belongs to, and last of all what the block showed of its settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from becalm.values import dataclass

if TYPE_CHECKING:
    from becalm.load.others import Others
    from becalm.load.record import Load, Series
    from becalm.nouns.demand import Made
    from becalm.nouns.run import Run


@dataclass(frozen=True, slots=True)
class Runs:
    """Finished runs, in the order they were made."""

    rows: Sequence[Run]


@dataclass(frozen=True, slots=True)
class RunText:
    """The stored output of the run `seq`: the end of its standard error, and its standard output."""

    seq: int
    stderr: str
    stdout: str


@dataclass(frozen=True, slots=True)
class Written:
    """The output of a program for the person (`Output.INHERIT`); `stream`: "stdout" or "stderr"."""

    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class Loads:
    """The other load of the machine during earlier runs: in totals, over time where that was asked
    for, and by process."""

    loads: Sequence[Load] = ()
    series: Sequence[Series] = ()
    others: Sequence[Others] = ()


@dataclass(frozen=True, slots=True)
class Noticed:
    """The observations about the settings of steps: remarks on applying them, and places that others changed.

    `switching_ns`: time spent putting settings on and off, ns. `unknown`: why columns of the loads (`becalm.load`), or
    parts of what could be known, were unknown, by name. `clamped`: places that the kernel gave another value than was
    asked for. `neighbours`: what those did that were kept running beside programs, as the agent tells it
    (docs/reference/protocol.md, `measure`). A block that needed several boots has one of these for each.
    """

    remarks: tuple[str, ...] = ()
    drift: tuple[Mapping[str, str], ...] = ()
    switching_ns: int = 0
    unknown: Mapping[str, str] = field(default_factory=dict)
    clamped: tuple[Mapping[str, str], ...] = ()
    neighbours: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class LoadMade:
    """The load that was really made next to a block (`Block.beside`)."""

    made: Made


class OfRecording:
    """An event of a recording (`becalm.hosts.recorded` lists them)."""

    __slots__ = ()


Event = Runs | RunText | Written | Loads | Noticed | LoadMade | OfRecording


def runs_of(events: Iterable[Event]) -> Iterator[Run]:
    """Yield the runs among some events."""
    for event in events:
        if isinstance(event, Runs):
            yield from event.rows
