"""What a host tells while it measures: one value an event, in the order in which things happen.

`Host.measure` yields them. Runs come in batches as they end; what a program wrote comes before its run, what else the
machine did after the runs it belongs to, and last of all what the block showed of its settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from becalm.values import dataclass

if TYPE_CHECKING:
    from becalm.load.record import Load, Series
    from becalm.nouns.demand import Made
    from becalm.nouns.run import Run


@dataclass(frozen=True, slots=True)
class Runs:
    """Finished runs, in the order they were made."""

    rows: Sequence[Run]


@dataclass(frozen=True, slots=True)
class RunText:
    """What is kept of what the run `seq` wrote: the end of its standard error, and its standard output."""

    seq: int
    stderr: str
    stdout: str


@dataclass(frozen=True, slots=True)
class Written:
    """What a program has written that is for the person (`Output.INHERIT`); `stream`: "stdout" or "stderr"."""

    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class Loads:
    """What else the machine did, of runs that were told before: in totals, and over time where that was asked for."""

    loads: Sequence[Load] = ()
    series: Sequence[Series] = ()


@dataclass(frozen=True, slots=True)
class Noticed:
    """What steps showed of their settings: sentences on what was put on, and places that somebody else changed.

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
    """What the load really did that was made beside a block (`Block.beside`)."""

    made: Made


class OfRecording:
    """What is told of a recording that was asked for (`becalm.hosts.recorded` has which)."""

    __slots__ = ()


Event = Runs | RunText | Written | Loads | Noticed | LoadMade | OfRecording


def runs_of(events: Iterable[Event]) -> Iterator[Run]:
    """The runs among some events."""
    for event in events:
        if isinstance(event, Runs):
            yield from event.rows
