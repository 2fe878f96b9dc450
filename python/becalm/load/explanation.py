"""The noun Explanation: the load next to stored runs and its effect, by program and machine.

`Case` is one program on one machine: its runs as `LoadPoint`s, the fit and the named cause (`load.attribution`), and
the bars of all its runs together. `Bottleneck` is a cell of the two-way table of programs and machines. Values only:
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
    """The runs `first` to `last` of a study, which had one load.

    - `measures`: others' load by name, None where unknown
    - `queue`, `cpus`: mean run queue, the program included, and number of CPUs
    - `bars`: ns of a run by name
    - `refused`: the reason why no cause may be read from the bars; empty when one may
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
    """A measure (`becalm.load.metrics`) of the whole machine over the points where it is known, in its base unit."""

    name: str
    mean: float
    least: float
    most: float


class Case(msgspec.Struct, frozen=True):
    """A program on one machine.

    - `reference_ns`: time of the unloaded run, or own CPU time; `reference` names which, as in Delay
    - `bars`: the waterfall of the mean run
    - `bottleneck`: the bar with most of the delay, and its share of the delay; None without a delay
    - `designed`: whether a plan drew the loads
    - `refused`: the reason why no cause may be read from `bars`; empty when one may
    - `forced`: the bar of a counted wait that others force on the program and that is most of the delay
      (`load.bottlenecks.forced_wait`); None without one
    - `load`: the load of the machine meanwhile, measure by measure
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
    """The bar with most of the delay. `program` or `machine` None: over all of them, each with the same weight.

    `delay`: the mean delay factor. `cause`: as named by the attribution, or None. `runs`: the number of runs.
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
