"""The noun Explanation: what stored runs show of the load next to them, program by program, machine by machine.

`Case` is one program on one machine: its runs as `LoadPoint`s, the fit and the named cause (`load.attribution`), the
bars of all its runs together. `Bottleneck` is a cell of the two-way table of programs and machines. Values only:
`becalm.verbs.explain` makes them, `becalm.report.explain` words and draws them. Shares are fractions.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from becalm.load.attribution import Attribution
from becalm.load.delay import Delay
from becalm.load.waterfall import Bar
from becalm.nouns.finding import Finding
from becalm.nouns.result import Result


class LoadPoint(msgspec.Struct, frozen=True):
    """The runs `first` to `last` of a study, which had one load. `measures`: others' load by name; None is unknown.

    `queue` and `cpus`: mean run queue, the program included, and CPUs. `bars`: ns of a run by name. `refused`: why no
    cause may be read from the bars; empty when one may.
    """

    study: int
    first: int
    last: int
    runs: int
    delay: Delay
    queue: float | None
    cpus: float | None
    measures: Mapping[str, float | None]
    bars: Mapping[str, float | None]
    refused: str = ""


class Spread(msgspec.Struct, frozen=True):
    """A measure (`becalm.load.metrics`) of the whole machine over the points that it is known of, in its base unit."""

    name: str
    mean: float
    least: float
    most: float


class Case(msgspec.Struct, frozen=True):
    """A program on one machine. `reference_ns`: unloaded run, or own CPU time; `reference` says which, as in Delay.

    `bars`: the mean run, as a waterfall; `bottleneck`: the bar that most of the delay is in, with its share of the
    delay; None without a delay. `designed`: loads were drawn by a plan. `refused`: why no cause may be read from
    `bars`; empty when one may. `forced`: the bar of a counted wait that others force on it and that most of the
    delay is (`load.bottlenecks.forced_wait`), None without one. `load`: what the machine did meanwhile, measure
    by measure.
    """

    program: str
    machine: str
    studies: tuple[int, ...]
    runs: int
    designed: bool
    reference: str
    reference_ns: float
    points: tuple[LoadPoint, ...]
    attribution: Attribution
    bars: tuple[Bar, ...]
    bottleneck: str | None
    bottleneck_share: float | None
    refused: str = ""
    forced: str | None = None
    load: tuple[Spread, ...] = ()
    sentence: str = ""


class Bottleneck(msgspec.Struct, frozen=True):
    """The bar with most of the delay. `program` or `machine` None: over all of them, each counting alike.

    `delay`: mean delay factor; `cause`: named by the attribution, None where none was; `runs` it rests on.
    """

    program: str | None
    machine: str | None
    runs: int
    delay: float
    bar: str | None
    share: float | None
    cause: str | None


class Explanation(Result, frozen=True):
    """The result of `becalm explain` for the runs of `studies`."""

    studies: tuple[int, ...]
    cases: tuple[Case, ...]
    bottlenecks: tuple[Bottleneck, ...]
    findings: tuple[Finding, ...] = ()
    sentence: str = ""
    kind: str = "explain"
