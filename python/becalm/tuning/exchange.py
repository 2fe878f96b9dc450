"""What a tune study measures next and what it gains: the values that its course and whoever measures exchange.

`becalm.tuning.phases` yields a PhaseRequest and is sent a PhaseResult; `becalm.study.tune` measures. Pure values.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from becalm.analysis import confirmation
from becalm.methods.protocol import Ask, Choice, Sample, TrialDesign
from becalm.nouns.settings import Settings
from becalm.nouns.tune_verdict import Trial
from becalm.nouns.verdict import Finding
from becalm.stats.arrays import Floats


@dataclass(frozen=True, slots=True)
class PhaseOptions:
    """How a study is made. `budget_ns` None: no limit in time; `least_runs`: of the search, however small the budget.
    `confirm_loops`, `confirm_runs`: of the confirmation.

    `margin`: a loss of spread smaller than this share does not matter when a setting is left out. `single_out`:
    measure the chosen settings without each one of them. `tried`: named settings to try instead of searching.
    `boot_ns`: how long a boot takes.
    """

    rule: TrialDesign
    confidence: float = 0.95
    budget_ns: int | None = None
    least_runs: int = 1
    confirm_loops: int = 12
    confirm_runs: int = 5
    margin: float = 0.25
    single_out: bool = True
    tried: tuple[tuple[str, Settings], ...] = ()
    boot_ns: float = 0.0


@dataclass(frozen=True, slots=True)
class PhaseRequest:
    """What to measure next, and in which phase of the study. `floor`: the built-in kernel as well."""

    ask: Ask
    phase: str
    floor: bool = False


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """What was measured: samples by program, then by arm. CPU times of the first arm by program, one array a loop."""

    samples: tuple[tuple[Sample, ...], ...]
    together: tuple[Sample, ...]
    cpu: tuple[tuple[Floats, ...], ...] = ()
    floor: tuple[Sample, ...] = ()
    took_ns: float = 0.0


@dataclass(slots=True)
class SearchResult:
    """What a study came to; `judged` is None when nothing was there to confirm."""

    choice: Choice
    course: list[Trial] = field(default_factory=list)
    judged: confirmation.Confirmation | None = None
    findings: list[Finding] = field(default_factory=list)
    search_runs: int = 0
    confirm_runs: int = 0
    tried: tuple[str, ...] = ()
    """Names of `Options.tried` that were confirmed; the first is the arm TUNED."""


PhaseGenerator = Generator[PhaseRequest, PhaseResult, SearchResult]


def counted(gained: PhaseResult) -> int:
    """Good runs of all arms and programs, warm-ups left out."""
    return sum(len(loop) for one in gained.samples for sample in one for loop in sample.loops)
