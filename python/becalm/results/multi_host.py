"""The results of `run`, `compare` and `tune` on several hosts: values with one JSON form.

`HostResult` is the result of one host; over all hosts, `PooledDifference` is one comparison, `PooledTime` the times of
one program, `PooledMetric` a metric of one program, and `MultiHostVerdict` the whole. `becalm.analysis.multi_host`
makes them from single verdicts. Differences are fractions (0.01: 1 % slower).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from becalm.nouns.finding import Finding, Interval
from becalm.nouns.metric import Better
from becalm.nouns.result import Result
from becalm.results.compare import Answer, Gate, Verdict, gate_code, gate_passed
from becalm.results.survey import Machine
from becalm.results.tune import Transfer, TuneVerdict


class HostResult(msgspec.Struct, frozen=True):
    """The result of one of several hosts: its verdict, and why it was lost, if it was.

    A lost host has the verdict on its results until then, or None when these are not enough for one.
    """

    host: str
    verdict: Verdict | TuneVerdict | Machine | None
    study: int | None = None
    lost: str = ""
    exit_code: int = 0


class PooledDifference(msgspec.Struct, frozen=True):
    """The comparison of one program with the reference, over hosts.

    - `estimate`, `low`, `high`: the mean over hosts of this kind, of which the measured ones are a sample (their number
      is the basis of the interval); infinite ends for one host
    - `between`: the standard deviation of the logarithms of the true differences from host to host
    - `next_low`, `next_high`: the prediction for one more such host, measured likewise
    - `differ_p`: the p value of equal differences on all hosts (Cochran's Q)
    - `answers`: the answer of each host; those `unknown` took no part
    - `confidence`: of all comparisons together
    - `metric`, `better`: as for a single host
    """

    name: str
    reference: str
    hosts: int
    estimate: float
    low: float
    high: float
    confidence: float
    between: float
    next_low: float
    next_high: float
    differ_p: float
    answers: Mapping[str, Answer]
    sentence: str = ""
    metric: str = ""
    better: Better = Better.LOWER


class PooledTime(msgspec.Struct, frozen=True):
    """The mean times of one program over hosts.

    `typical_ns`: the geometric mean over hosts of this kind, with its interval; `between`: the standard deviation of
    the logarithms of hosts' means; `fastest`, `slowest`: names of hosts.
    """

    name: str
    hosts: int
    typical_ns: Interval
    confidence: float
    between: float
    differ_p: float
    fastest: str
    slowest: str
    sentence: str = ""


class PooledMetric(msgspec.Struct, frozen=True):
    """A number that one program prints, over hosts, in `unit`.

    `typical`: the geometric mean over hosts of this kind, with its interval; `between`: the standard deviation of the
    logarithms of hosts' means; `best`, `worst`: names of hosts, in the direction of `better`.
    """

    name: str
    metric: str
    unit: str
    better: Better
    hosts: int
    typical: Interval
    confidence: float
    between: float
    differ_p: float
    best: str
    worst: str
    sentence: str = ""


class MultiHostVerdict(Result, frozen=True):
    """The conclusion of one measurement on several hosts.

    - `group`: the identifier that their studies in the store share
    - `gate`: the result of the limit, None without one: above it when a slowdown beyond it is established on any host,
      within it when none is possible on any
    - `transfer`: for `tune`, settings found on one host (`column`) as measured on another (`row`)
    - `further`: the prediction of these for one more such host, where they were measured on three or more
    """

    DERIVED = ("passed", "several")

    kind: str
    group: str
    confidence: float
    hosts: tuple[HostResult, ...]
    across: tuple[PooledDifference, ...] = ()
    times: tuple[PooledTime, ...] = ()
    metrics: tuple[PooledMetric, ...] = ()
    transfer: tuple[Transfer, ...] = ()
    further: tuple[Transfer, ...] = ()
    findings: tuple[Finding, ...] = ()
    fail_above: float | None = None
    gate: Gate | None = None
    undecided: str = "fail"
    sentence: str = ""
    several = True

    @property
    def passed(self) -> bool | None:
        """Whether the differences on all hosts are within the limit: None without one, and while that is undecided."""
        return gate_passed(self.gate)

    @property
    def lost(self) -> tuple[HostResult, ...]:
        """The hosts that were lost before their end."""
        return tuple(host for host in self.hosts if host.lost)

    @property
    def exit_code(self) -> int:
        """The exit code: 1 a limit is exceeded somewhere, else that of a lost host, 5 undecided (exit-codes.md)."""
        code = gate_code(self.gate, self.undecided)
        return code if code == 1 else max((host.exit_code for host in self.hosts), default=0) or code
