"""The values that `doctor` returns: the machine's properties, its noise, becalm's overhead, and advice.

Values only: `becalm.analysis.noise_floor` computes them, `becalm.analysis.doctor_advice` finds and words what matters,
`becalm.report.doctor` draws the screen. Fractions everywhere: 0.02 means 2 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from becalm.nouns.result import Result


class Severity(StrEnum):
    """The importance of a finding for measuring. WARNING: it spoils results; NOTE: worth knowing; GOOD: it helps."""

    WARNING = "warning"
    NOTE = "note"
    GOOD = "good"


class Advice(msgspec.Struct, frozen=True):
    """A fact about this machine: what it is, why it matters, and what can be done (empty: nothing)."""

    DERIVED = ("sentence",)

    severity: Severity
    kind: str
    what: str
    matters: str = ""
    way_out: str = ""

    @property
    def sentence(self) -> str:
        """The whole advice as text."""
        return " ".join(part for part in (self.what, self.matters, self.way_out) if part)


class Noise(msgspec.Struct, frozen=True):
    """The variation of the time of one fixed piece of work that was run repeatedly.

    - `cv`: the coefficient of variation; `robust_cv`: 1.4826 median absolute deviations over the median
    - `lag_one`: the autocorrelation of neighbouring runs
    - `worst`: by how much the slowest run exceeded the median
    - `wait_share`: the part of the wall time spent waiting for a CPU
    - `processor_share`: the squared correlation of wall and CPU time, the part of the variation that the processor
      itself caused
    - `steal_share`: the part of all CPU time that the hypervisor took
    - `others_cpus`: the mean number of CPUs that other programs kept busy
    - `detectable`: the difference between two programs of `program_ns` each that `compare` would call within `budget_s`
      with probability 0.8

    None is unknown.
    """

    runs: int
    elapsed_s: float
    median_ns: float
    cv: float
    robust_cv: float
    lag_one: float | None
    worst: float
    wait_share: float | None
    processor_share: float | None
    steal_share: float | None
    others_cpus: float | None
    detectable: float | None
    program_ns: float
    budget_s: float


class Overhead(msgspec.Struct, frozen=True):
    """The time that becalm adds to starting and waiting for an empty program; ns.

    `bare_ns`: the median time of only that; `added_ns`: the median of what a measured run takes more; `low_ns`,
    `high_ns`: the middle half of the differences.
    """

    runs: int
    bare_ns: float
    added_ns: float
    low_ns: float
    high_ns: float


class SharedNoise(msgspec.Struct, frozen=True):
    """The noise that two CPUs share, and the gain of running two programs at the same time.

    - `correlation`: the rank correlation of the times of the same work on both at the same moment, with a 95 % interval
    - `gain`: how many times as precise a comparison at the same time is as one in turns of the same length
    - `slowdown`: by how much its twin slowed the work, with its standard error

    None is unknown.
    """

    cpus: tuple[int, int]
    pairs: int
    correlation: float
    low: float
    high: float
    gain: float | None
    slowdown: float | None
    slowdown_error: float | None


class Diagnosis(Result, frozen=True):
    """The result of `doctor`. `unmeasured`: the reason why noise and overhead are None; `unshared`: the reason why
    noise that CPUs share is unknown."""

    KIND = "doctor"

    host: str
    facts: Mapping[str, Any]
    noise: Noise | None
    overhead: Overhead | None
    findings: tuple[Advice, ...]
    unmeasured: str = ""
    shared: SharedNoise | None = None
    unshared: str = ""

    @property
    def sentence(self) -> str:
        """The findings, one per line."""
        return "\n".join(f"{finding.severity}: {finding.what}" for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON form (docs/reference/doctor.md), with null for no reason."""
        return {**super().to_json(), "unmeasured": self.unmeasured or None, "unshared": self.unshared or None}
