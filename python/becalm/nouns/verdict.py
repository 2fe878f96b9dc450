"""The noun Verdict: what an analysis concludes, with its uncertainty, what it rests on, and the sentence.

`Difference` is one program against the reference, `Summary` one program by itself, `Finding` something a person
should know about the data. `Verdict` holds them for one study. Values only: `becalm.analysis.comparison` makes them,
`becalm.report` words and draws them. All differences are fractions: 0.01 means 1 % slower than the reference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from becalm._version import SCHEMA as SCHEMA
from becalm._version import VERSION
from becalm.nouns.codec import finite
from becalm.stats.bins import Histogram


class Answer(StrEnum):
    """What a comparison found.

    NO_DIFFERENCE_DETECTED: none above a stated bound; UNKNOWN: too few runs to say anything.
    """

    SLOWER = "slower"
    FASTER = "faster"
    NO_DIFFERENCE_DETECTED = "no difference seen"
    UNKNOWN = "not yet known"


class Stopped(StrEnum):
    """Why measuring ended."""

    KNOWN = "answer known"
    PRECISION = "precision reached"
    BUDGET = "budget used"
    RUNS = "runs made"
    INTERRUPTED = "interrupted"
    FAILED = "a workload failed"
    STORED = "read from the store"


@dataclass(frozen=True, slots=True)
class Difference:
    """One program against the reference.

    `estimate`, `low`, `high`: relative difference of wall time as fractions; the interval holds at every look, at
    `confidence` for all comparisons of the study together. `detectable`: the smallest true difference that would
    have been called with a probability of 80 %. `pairs`: randomly ordered rounds the estimate rests on.
    """

    name: str
    reference: str
    estimate: float
    low: float
    high: float
    confidence: float
    pairs: int
    detectable: float
    p_value: float
    answer: Answer
    standard_error: float
    weak: bool = False
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its confidence interval, in the unit its name says."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about the data that a person should know: a drift, two modes, an outlier, left-over processes.

    A kind and its numbers; `becalm.wording.findings` has the table of kinds, and makes the sentence of them.
    """

    kind: str
    sentence: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    program: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """One program by itself. Times in ns; `cv` is the coefficient of variation as a fraction."""

    name: str
    runs: int
    failed: int
    mean_ns: Interval
    median_ns: Interval
    cv: Interval
    sd_ns: float
    min_ns: int
    max_ns: int
    user_ns: float | None
    system_ns: float | None
    wait_ns: float | None
    max_rss_bytes: int | None
    effective_runs: float
    runs_for_one_percent: int | None
    histogram: Histogram | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one study concludes.

    `study` is its number in the store (None when nothing was stored); `passed` is None when no limit was set.
    """

    kind: str
    study: int | None
    host: str
    elapsed_ns: int
    stopped: Stopped
    confidence: float
    summaries: tuple[Summary, ...]
    differences: tuple[Difference, ...] = ()
    findings: tuple[Finding, ...] = ()
    fail_above: float | None = None
    passed: bool | None = None
    seed: int = 0
    sentence: str = ""

    @property
    def exit_code(self) -> int:
        """4: a program failed; 1: a limit is exceeded; else 0 (docs/reference/exit-codes.md)."""
        return 4 if self.stopped is Stopped.FAILED else 1 if self.passed is False else 0

    def to_json(self) -> dict[str, Any]:
        """The documented, versioned form (docs/reference/json.md). Infinite ends of an interval become null."""
        value: dict[str, Any] = {"becalm": VERSION, "schema": SCHEMA}
        value.update(asdict(self))
        cleaned = finite(value)
        assert isinstance(cleaned, dict)
        return cleaned


def from_json(value: Mapping[str, Any]) -> Verdict:
    """Read back what `Verdict.to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""

    def number(found: float | None, missing: float) -> float:
        return missing if found is None else found

    def interval(found: Mapping[str, Any]) -> Interval:
        return Interval(found["value"], number(found["low"], -math.inf), number(found["high"], math.inf))

    def summary(found: Mapping[str, Any]) -> Summary:
        drawn = found.get("histogram")
        changed = {
            "mean_ns": interval(found["mean_ns"]),
            "median_ns": interval(found["median_ns"]),
            "cv": interval(found["cv"]),
            "sd_ns": number(found["sd_ns"], math.nan),
            "histogram": None if drawn is None else Histogram(**{**drawn, "counts": tuple(drawn["counts"])}),
        }
        return Summary(**{**found, **changed})

    def difference(found: Mapping[str, Any]) -> Difference:
        changed = {
            "answer": Answer(found["answer"]),
            "low": number(found["low"], -math.inf),
            "high": number(found["high"], math.inf),
            "detectable": number(found["detectable"], math.inf),
            "standard_error": number(found["standard_error"], math.inf),
            "p_value": number(found["p_value"], math.nan),
        }
        return Difference(**{**found, **changed})

    fields = {key: found for key, found in value.items() if key not in ("becalm", "schema", "runs")}
    changed = {
        "stopped": Stopped(value["stopped"]),
        "summaries": tuple(map(summary, value["summaries"])),
        "differences": tuple(map(difference, value["differences"])),
        "findings": tuple(Finding(**found) for found in value["findings"]),
    }
    return Verdict(**{**fields, **changed})
