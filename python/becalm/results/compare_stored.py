"""The result StoredComparison: stored runs of two times compared, benchmark by benchmark.

Public: StoredSession (the runs of a source), BenchmarkDifference (one benchmark in both), StoredComparison (all of it),
GeometricMean and SuiteShift (of all benchmarks of a unit). `becalm.study.stored_sessions` reads sessions,
`becalm.analysis.compare_stored` makes the comparison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from becalm.nouns.finding import Finding
from becalm.nouns.metric import Better
from becalm.nouns.result import Result
from becalm.results.compare import Difference, Gate, gate_code
from becalm.stats.arrays import Floats


class SessionSeries(msgspec.Struct, frozen=True):
    """The values of one benchmark in one session: above zero, in the order measured, times in ns."""

    unit: str
    better: Better
    metric: str
    values: Floats


class Identity(NamedTuple):
    """The identity of a benchmark: its name, its parameters, and its metric if it has several.

    `parameters`: also its tags, package and processors. It never depends on a place in a file or a shortened name.
    """

    name: str
    parameters: tuple[tuple[str, str], ...] = ()
    metric: str = ""


class StoredSession(msgspec.Struct, frozen=True):
    """A session: a study or a file.

    - `title`: its name in reports
    - `series`: by name of the benchmark
    - `unusable`: benchmarks that cannot be compared, with the reason
    - `references`: programs that never change (`becalm record --reference`); their differences are those of the session
    - `identities`: of benchmarks that their names alone do not identify
    - `left_out`: entries of its file without a value
    - `origin`: the place from which it was read, whatever its title is
    - `content`: a digest of its runs, equal for a copy
    """

    title: str
    series: Mapping[str, SessionSeries]
    unusable: Mapping[str, str] = msgspec.field(default_factory=dict)
    references: tuple[str, ...] = ()
    identities: Mapping[str, Identity] = msgspec.field(default_factory=dict)
    left_out: tuple[Finding, ...] = ()
    origin: str = ""
    content: str = ""

    def identity(self, name: str) -> Identity:
        """Return the identity of the benchmark with this name."""
        return self.identities.get(name) or Identity(name)


class BenchmarkDifference(msgspec.Struct, frozen=True):
    """A benchmark that both sides have.

    - `old`, `new`: the typical values, in `unit`: Huber's location of the logarithms, so that their ratio is the
      difference
    - `difference`: with its interval, which holds for all benchmarks together
    - `by_runs`: the interval from the runs only, without the shift between sessions, as fractions
    - `shift`: the standard deviation from one session of the same program to the next, a fraction; None where no
      session was repeated and there are no references
    """

    name: str
    unit: str
    old: float
    new: float
    old_runs: int
    new_runs: int
    old_sessions: int
    new_sessions: int
    difference: Difference
    by_runs: tuple[float, float]
    shift: float | None


class GeometricMean(msgspec.Struct, frozen=True):
    """The geometric mean of the ratios of all benchmarks of one metric and unit, less 1, for at least two benchmarks.

    It has no interval, because the shift between sessions affects all benchmarks together.
    """

    metric: str
    unit: str
    benchmarks: int
    difference: float


class SuiteShift(msgspec.Struct, frozen=True):
    """The shift between sessions that all benchmarks of one metric and unit show together, and that moderates each one.

    `shift`: the standard deviation of the typical benchmark from one session of the same program to the next, a
    fraction. `freedom`: degrees of freedom of the Student's t that sessions follow; few mean heavy tails.
    """

    metric: str
    unit: str
    benchmarks: int
    shift: float
    freedom: float


class StoredComparison(Result, frozen=True):
    """Runs of two times compared. `old`, `new`: the sessions of each side, by title.

    - `shift`: the largest shift between sessions for which the user vouches, a fraction; None without
    - `gone`, `added`: benchmarks of one side only; `renamed`: pairs of these that may be one benchmark
    - `units`: benchmarks whose unit changed, with both units
    - `unusable`: benchmarks that cannot be compared, with the reason
    - `references`: programs that never change, which show the shift between the sessions; empty where something else
      shows it, or nothing does
    - `suites`: the shift that the benchmarks of each metric and unit show together; empty where they are few
    - `gate`: the result of `fail_above`
    """

    KIND = "stored comparison"
    DERIVED = ("geometric_means", "half_width")

    old: tuple[str, ...]
    new: tuple[str, ...]
    confidence: float
    shift: float | None
    benchmarks: tuple[BenchmarkDifference, ...]
    gone: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    units: tuple[tuple[str, str, str], ...] = ()
    unusable: tuple[tuple[str, str], ...] = ()
    references: tuple[str, ...] = ()
    suites: tuple[SuiteShift, ...] = ()
    fail_above: float | None = None
    gate: Gate | None = None
    undecided: str = "fail"
    findings: tuple[Finding, ...] = ()
    sentence: str = ""

    @property
    def geometric_means(self) -> tuple[GeometricMean, ...]:
        """The geometric mean of each metric and unit that several benchmarks have, in their order."""
        logs_by_unit: dict[tuple[str, str], list[float]] = {}
        for benchmark in self.benchmarks:
            if math.isfinite(benchmark.difference.estimate) and benchmark.difference.estimate > -1:
                ratios = logs_by_unit.setdefault((benchmark.difference.metric, benchmark.unit), [])
                ratios.append(math.log1p(benchmark.difference.estimate))
        return tuple(
            GeometricMean(metric, unit, len(logs), math.expm1(math.fsum(logs) / len(logs)))
            for (metric, unit), logs in logs_by_unit.items()
            if len(logs) > 1
        )

    @property
    def half_width(self) -> float:
        """The median half width of the intervals of all benchmarks, a fraction; NaN without benchmarks."""
        halves = sorted((benchmark.difference.high - benchmark.difference.low) / 2 for benchmark in self.benchmarks)
        count = len(halves)
        return (halves[(count - 1) // 2] + halves[count // 2]) / 2 if count else math.nan

    @property
    def bounded(self) -> bool:
        """Whether every interval takes the shift between sessions into account."""
        return self.shift is not None or all(benchmark.shift is not None for benchmark in self.benchmarks)

    @property
    def exit_code(self) -> int:
        """The exit code: 1 a limit is exceeded, 5 undecided, else 0 (docs/reference/exit-codes.md)."""
        return gate_code(self.gate, self.undecided)
