"""The result Timeline: the history of a project's benchmarks over its commits, with their changes.

Values only: `becalm.analysis.history` makes them, `becalm.report.history` draws them. Sessions are in the order of
their commits; benchmarks and changes name them by position. Sizes are fractions: 0.02 takes 2 % longer.
"""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from becalm.nouns.finding import Finding
from becalm.nouns.result import Result


class HistorySession(msgspec.Struct, frozen=True):
    """A measurement of benchmarks at a commit.

    - `when_ns`: its time, by the clock of its machine
    - `machine`: the position among the machines; sessions of one machine are comparable
    - `ordinal`: as in RecordOptions
    - `source`: the tool whose results were imported; empty for becalm's own
    """

    study: int
    commit: str
    subject: str
    branch: str
    tags: tuple[str, ...]
    baseline: str
    when_ns: int
    commit_ns: int | None
    ordinal: int | None
    machine: int
    changed: bool
    source: str = ""


class HistoryMachine(msgspec.Struct, frozen=True):
    """The properties that are the same from session to session: the machine, its kernel, its settings.

    `chain`: machines of equal numbers are joined by commits that were measured on both, by `bridges` sessions on each
    side; 0 for the first machine of a chain.
    """

    name: str
    processor: str
    kernel: str
    settings: str
    sessions: int
    chain: int
    bridges: int


class Point(msgspec.Struct, frozen=True):
    """A benchmark in one session: the median of its runs in its unit, and the ends of its interval (95 %)."""

    session: int
    value: float
    low: float
    high: float
    runs: int
    failed: int


class Benchmark(msgspec.Struct, frozen=True):
    """A benchmark over all sessions.

    - `unit`: ns for wall times
    - `noise`: the standard deviation of a session, a fraction
    - `lacking`: sessions until a change can be seen, in the last used chain of machines
    - `visible`: the least change, a fraction, that would be seen within ten sessions; NaN where none would be
    - `gone`: whether the last session of that chain lacks the benchmark
    """

    name: str
    unit: str
    higher_is_better: bool
    reference: bool
    points: tuple[Point, ...]
    noise: float
    lacking: int
    visible: float
    gone: bool


class BenchmarkChange(msgspec.Struct, frozen=True):
    """A step.

    - `benchmark`: its position; None for all together
    - `chain`: the chain of machines on which it was seen
    - `last_before`, `at`, `seen_at`: the last session before it, the first after it, and the one that revealed it
    - `unmeasured`: the number of commits between the first two, None where unknown
    - `size`, `low`, `high`: fractions of the quantity that the benchmark's unit counts; `worse`: what they mean
    - `one_in`: the number of commits of a suite without changes among which one such alarm is expected
    """

    benchmark: int | None
    chain: int
    last_before: int
    at: int
    seen_at: int
    unmeasured: int | None
    size: float
    low: float
    high: float
    worse: bool
    one_in: float


class Against(msgspec.Struct, frozen=True):
    """A benchmark's present level against a named baseline: relative difference with its interval (95 %)."""

    benchmark: int
    size: float
    low: float
    high: float


class Timeline(Result, frozen=True):
    """The history of a project. `order`: the source of the order of the sessions. `rate`: the intended false alarms per
    commit.

    `baseline`: the session with which `against` compares, None without one. `fail_on_change`: whether a change for the
    worse that the newest session has shown is a failure.
    """

    KIND = "history"

    project: str
    order: str
    rate: float
    sessions: tuple[HistorySession, ...]
    machines: tuple[HistoryMachine, ...]
    benchmarks: tuple[Benchmark, ...]
    changes: tuple[BenchmarkChange, ...]
    findings: tuple[Finding, ...] = ()
    baseline: int | None = None
    against: tuple[Against, ...] = ()
    links: str = ""
    fail_on_change: bool = False
    sentence: str = ""

    @property
    def newest(self) -> tuple[BenchmarkChange, ...]:
        """Changes for the worse that were seen with the newest session, and with none before."""
        return tuple(change for change in self.changes if change.worse and change.seen_at == len(self.sessions) - 1)

    @property
    def exit_code(self) -> int:
        """The exit code: 1 where a change for the worse that the newest session has shown is a failure, else 0."""
        return int(self.fail_on_change and bool(self.newest))

    def link(self, commit: str) -> str:
        """Return the URL of a commit; empty without a template."""
        return self.links.replace("{commit}", quote(commit, safe="")) if self.links else ""
