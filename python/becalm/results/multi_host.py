"""The results of `run`, `compare` and `tune` on several hosts: values with one JSON form.

`HostResult` is what one host gave, `PooledDifference` one comparison over all of them, `PooledTime` one program's times
over all of them, `PooledMetric` what it prints there, `MultiHostVerdict` the whole. `becalm.analysis.multi_host`
makes them of single verdicts. Differences are fractions (0.01: 1 % slower).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from becalm._version import SCHEMA, VERSION
from becalm.nouns.codec import finite, plain_dict
from becalm.nouns.finding import Finding, Interval
from becalm.nouns.metric import Better
from becalm.nouns.result import Result
from becalm.results.compare import Answer, Gate, Verdict, gate_code
from becalm.results.survey import Machine
from becalm.results.tune import Transfer, TuneVerdict


class HostResult(msgspec.Struct, frozen=True):
    """The result of one of several hosts: its verdict, and why it was lost, if it was.

    A lost host has the verdict on what it had given until then, or None when that is not enough for one.
    """

    host: str
    verdict: Verdict | TuneVerdict | Machine | None
    study: int | None = None
    lost: str = ""
    exit_code: int = 0


class PooledDifference(msgspec.Struct, frozen=True):
    """The comparison of one program with the reference, over hosts.

    `estimate`, `low`, `high`: mean over hosts of this kind, of which those measured are a sample (their number is what
    the interval rests on); infinite ends for one host. `between`: standard deviation of the true differences from host
    to host, of their logarithms. `next_low`, `next_high`: where one more such host would come out, measured likewise.
    `differ_p`: of hosts that all have the same difference (Cochran's Q). `answers`: host to its own answer; those
    `unknown` took no part. `confidence` of all comparisons together. `metric`, `better`: as of a single host.
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

    `typical_ns`: geometric mean over hosts of this kind, with its interval; `between`: standard deviation from host
    to host of the logarithms of their means; `fastest`, `slowest`: names of hosts.
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

    `typical`: geometric mean over hosts of this kind, with its interval; `between`: standard deviation from host to
    host of the logarithms of their means; `best`, `worst`: names of hosts, as `better` has it.
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

    `group`: what their studies in the store have in common. `gate`: the result of the limit, None without one: above it
    when a slowdown beyond it is established on any host, within it when none is possible on any. `transfer`: of `tune`,
    settings found on one host (`column`) as measured on another (`row`); `further`: what one more host like those they
    were measured on would give, where these are three or more.
    """

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

    @property
    def passed(self) -> bool | None:
        """Whether the differences on all hosts are within the limit: None without one, and while that is undecided."""
        return {Gate.WITHIN: True, Gate.ABOVE: False}.get(self.gate) if self.gate else None

    @property
    def lost(self) -> tuple[HostResult, ...]:
        """Hosts that did not come to their end."""
        return tuple(host for host in self.hosts if host.lost)

    @property
    def exit_code(self) -> int:
        """1: a limit is exceeded somewhere; else that of a host lost; 5: undecided (docs/reference/exit-codes.md)."""
        code = gate_code(self.gate, self.undecided)
        return code if code == 1 else max((host.exit_code for host in self.hosts), default=0) or code

    def to_json(self) -> dict[str, Any]:
        """Return the documented, versioned form (docs/reference/json.md)."""
        value = {"becalm": VERSION, "schema": SCHEMA, **plain_dict(self), "passed": self.passed}
        value["several"] = True
        value["hosts"] = [
            {
                "host": host.host,
                "study": host.study,
                "lost": host.lost,
                "exit_code": host.exit_code,
                "verdict": host.verdict.to_json() if isinstance(host.verdict, (Verdict, TuneVerdict)) else None,
            }
            for host in self.hosts
        ]
        cleaned = finite(value)
        assert isinstance(cleaned, dict)
        return cleaned
