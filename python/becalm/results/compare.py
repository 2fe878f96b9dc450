"""The result Verdict of run and compare: the conclusion with its uncertainty, its basis, and the sentence.

`Difference` is one program against the reference, `Summary` one program by itself. `Verdict` contains
them for one study. Values only: `becalm.analysis.compare` makes them, `becalm.report` words and draws them. All
differences are fractions: 0.01 means 1 % slower than the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from becalm.nouns.codec import HighBound, LowBound, decode
from becalm.nouns.finding import Finding, Interval
from becalm.nouns.metric import Better, Metric
from becalm.nouns.result import Result
from becalm.results.where import Where
from becalm.stats.bins import Histogram


class Answer(StrEnum):
    """The answer of a comparison. HIGHER and LOWER are for metrics, SLOWER and FASTER for wall time.
    NO_DIFFERENCE_DETECTED: any difference is below a stated bound; UNKNOWN: too few runs for an answer.
    """

    SLOWER = "slower"
    FASTER = "faster"
    HIGHER = "higher"
    LOWER = "lower"
    NO_DIFFERENCE_DETECTED = "no difference seen"
    UNKNOWN = "not yet known"


class Stopped(StrEnum):
    """The reason why measuring ended."""

    KNOWN = "answer known"
    PRECISION = "precision reached"
    BUDGET = "budget used"
    RUNS = "runs made"
    INTERRUPTED = "interrupted"
    FAILED = "a workload failed"
    STORED = "read from the store"


class Gate(StrEnum):
    """The result of a limit: no slowdown above it, one above it, or neither of them shown."""

    WITHIN = "within"
    ABOVE = "above"
    UNDECIDED = "undecided"


UNDECIDED_CODE = 5
"""The exit code for an undecided limit (docs/reference/exit-codes.md)."""


class Difference(msgspec.Struct, frozen=True):
    """The comparison of one program with the reference.

    - `estimate`, `low`, `high`: the relative difference of wall time, or of `metric`, as fractions; the interval holds
      at every look, at `confidence` for all comparisons of the study together
    - `detectable`: the smallest true difference that would have been called with a probability of 80 %
    - `pairs`: the number of randomly ordered rounds behind the estimate
    - `metric`: the name of the compared number that the programs print, empty for their wall time
    - `better`: the direction in which its values improve
    - `varies`: for exact counts, the largest difference between runs of one program, a fraction; None for statistical
      comparisons
    """

    name: str
    reference: str
    estimate: float
    low: LowBound
    high: HighBound
    confidence: float
    pairs: int
    detectable: HighBound
    p_value: float
    answer: Answer
    standard_error: HighBound
    weak: bool = False
    sentence: str = ""
    metric: str = ""
    better: Better = Better.LOWER
    varies: float | None = None

    @property
    def half(self) -> float:
        """Half the width of the interval, which determines the digits of the estimate; for exact counts at least a
        hundredth of the estimate."""
        half = (self.high - self.low) / 2
        return half if self.varies is None else max(half, abs(self.estimate) / 100)

    @property
    def harm(self) -> tuple[float, float, float]:
        """The slowdown, or how much worse a metric is than the reference's, a fraction with its interval."""
        ends = self.estimate, self.low, self.high
        return ends if self.better is Better.LOWER else (-ends[0], -ends[2], -ends[1])

    @property
    def worse(self) -> bool | None:
        """Whether the program is shown to be worse (True) or better (False) than the reference; None if neither is
        shown."""
        if self.answer in (Answer.SLOWER, Answer.FASTER):
            return self.answer is Answer.SLOWER
        if self.answer in (Answer.HIGHER, Answer.LOWER):
            return (self.answer is Answer.HIGHER) is (self.better is Better.LOWER)
        return None


class MetricSummary(msgspec.Struct, frozen=True):
    """The summary of a metric of one program, in `unit`; `cv` and the ends of its interval are fractions."""

    name: str
    unit: str
    better: Better
    runs: int
    mean: Interval
    median: Interval
    cv: Interval
    sd: float
    minimum: float
    maximum: float
    histogram: Histogram | None = None


class MetricDifference(msgspec.Struct, frozen=True):
    """The difference between a program and the reference in a metric that is recorded next to the compared one.

    `means`: of the reference and of the program over the pairs, in `unit`. `estimate`, `low`, `high`: the relative
    difference as a fraction; NaN between infinite ends where the reference's mean is 0.
    """

    name: str
    reference: str
    metric: str
    unit: str
    better: Better
    means: tuple[float, float]
    estimate: float
    low: LowBound
    high: HighBound
    pairs: int

    @property
    def worse(self) -> bool | None:
        """Whether it is shown to be worse (True) or better (False) than the reference's; None when neither is."""
        if self.low > 0:
            return self.better is Better.LOWER
        return self.better is Better.HIGHER if self.high < 0 else None


class Throughput(msgspec.Struct, frozen=True):
    """The amount of `what` that a program does in a second, by its mean time."""

    what: str
    per_second: Interval


class Summary(msgspec.Struct, frozen=True):
    """The summary of one program. Times in ns; `cv` is the coefficient of variation as a fraction. Fields of wall times
    are None where these are unknown, because another tool timed iterations, which are metrics.

    - `metrics`: the metrics of its runs, of which the first is compared
    - `throughput`: its work per second, if known
    - `memory`: its resident memory over one run, (ns since its start, bytes), if measured
    - `quantiles`, `course`: at most 101 and 200 of the compared values, from smallest to largest and in the order of
      the runs (`becalm.stats.thinned`)
    """

    name: str
    runs: int
    failed: int
    mean_ns: Interval | None
    median_ns: Interval | None
    cv: Interval | None
    sd_ns: float | None
    min_ns: int | None
    max_ns: int | None
    user_ns: float | None
    system_ns: float | None
    wait_ns: float | None
    max_rss_bytes: int | None
    effective_runs: float
    runs_for_one_percent: int | None
    histogram: Histogram | None = None
    metrics: tuple[MetricSummary, ...] = ()
    throughput: Throughput | None = None
    quantiles: tuple[float, ...] = ()
    course: tuple[float, ...] = ()
    memory: tuple[tuple[float, float], ...] = ()


class Place(msgspec.Struct, frozen=True):
    """The rank of one of several programs: the range of possible ranks, from 1 on, and the number of its rounds."""

    name: str
    best: int
    worst: int
    rounds: int


class Ranking(msgspec.Struct, frozen=True):
    """Several programs in order, those that may be the fastest first (`best` is 1).

    `decides_ns`: the total measuring time that would identify the fastest with a probability of 80 %, if the
    differences are as estimated; None if it is already known, or not predictable. `within`: the largest difference of
    best possible programs from the first, as a fraction.
    """

    places: tuple[Place, ...]
    confidence: float
    decides_ns: int | None
    within: HighBound

    @property
    def fastest(self) -> tuple[str, ...]:
        """The programs that may be the fastest."""
        return tuple(place.name for place in self.places if place.best == 1)


class Circumstances(msgspec.Struct, frozen=True):
    """The circumstances of a measurement. `when_ns`: Unix time of the start, None where unknown; `commands`: in the
    order of the programs. Texts are empty where unknown."""

    when_ns: int | None
    machine: str
    processor: str
    kernel: str
    commands: tuple[str, ...]


class Verdict(Result, frozen=True):
    """The conclusion of one study.

    - `study`: its number in the store; None when nothing was stored
    - `elapsed_ns`: None where the duration of imported runs is unknown
    - `gate`: the result of the limit `fail_above`, None without one
    - `undecided`: whether an undecided limit is to "pass" or to "fail"
    - `decides_ns`: the total measuring time that would decide it with a probability of 80 %, if the differences are as
      estimated; None if unknown
    - `ranking`: the order of three programs or more
    - `metric`: the compared metric; None for wall time
    - `further`: differences in the metrics that are recorded next to the compared one
    - `where`: the functions in which the difference lies
    """

    DERIVED = ("passed",)

    kind: str
    study: int | None
    host: str
    elapsed_ns: int | None
    stopped: Stopped
    confidence: float
    summaries: tuple[Summary, ...]
    differences: tuple[Difference, ...] = ()
    findings: tuple[Finding, ...] = ()
    fail_above: float | None = None
    gate: Gate | None = None
    undecided: str = "fail"
    decides_ns: int | None = None
    ranking: Ranking | None = None
    seed: int = 0
    sentence: str = ""
    metric: Metric | None = None
    circumstances: Circumstances | None = None
    further: tuple[MetricDifference, ...] = ()
    where: Where | None = None

    @property
    def exact(self) -> bool:
        """Whether exact counts are compared."""
        return self.metric is not None and self.metric.exact

    @property
    def passed(self) -> bool | None:
        """Whether all differences are within the limit: None without one, and while that is undecided."""
        return gate_passed(self.gate)

    @property
    def exit_code(self) -> int:
        """The exit code: 4 a program failed, 1 a limit is exceeded, 5 undecided, else 0
        (docs/reference/exit-codes.md)."""
        return 4 if self.stopped is Stopped.FAILED else gate_code(self.gate, self.undecided)


def gate_passed(gate: Gate | None) -> bool | None:
    """Return whether a limit is kept; None without one, and while that is undecided."""
    return {Gate.WITHIN: True, Gate.ABOVE: False}.get(gate) if gate else None


def gate_code(gate: Gate | None, undecided: str) -> int:
    """Return the exit code for a gate; `undecided`: "pass" or "fail"."""
    if gate is Gate.UNDECIDED and undecided == "fail":
        return UNDECIDED_CODE
    return 1 if gate is Gate.ABOVE else 0


def from_json(value: Mapping[str, Any]) -> Verdict:
    """Return the verdict that `Verdict.to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    return decode(Verdict, value)
