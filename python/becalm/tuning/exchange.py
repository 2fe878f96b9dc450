"""What a tune study measures next and what it gains: the values that its course and whoever measures exchange.

`becalm.tuning.phases` yields a PhaseRequest and is sent a PhaseResult; `becalm.study.tune` measures. Pure values.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from becalm.analysis import confirmation
from becalm.methods.protocol import Ask, Choice, Sample
from becalm.nouns.design_fit import DesignFit
from becalm.nouns.tune_verdict import Trial
from becalm.nouns.verdict import Finding
from becalm.stats.arrays import Floats


@dataclass(frozen=True, slots=True)
class PhaseRequest:
    """What to measure next, and in which phase of the study. `floor`: the built-in kernel as well.

    `within_ns`: after `fewest` of its loops a further one is measured only where that seems to end within this time.
    """

    ask: Ask
    phase: str
    floor: bool = False
    within_ns: float | None = None
    fewest: int = 1


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
    """What a study came to; `judged` is empty when nothing was there to confirm."""

    choice: Choice
    trials: list[Trial] = field(default_factory=list)
    judged: confirmation.Confirmation = field(default_factory=confirmation.Confirmation)
    findings: list[Finding] = field(default_factory=list)
    search_runs: int = 0
    confirm_runs: int = 0
    fit: DesignFit | None = None
    """What a surface through the trials says, where factors were varied."""
    noise: float = 0.0
    """Of single runs over the whole search, a share of their mean; 0 where it is not known."""
    gain: float = 0.0
    """What the search saw the chosen settings save of the time, a share; 0 where it is not known."""
    tried: tuple[str, ...] = ()
    """Names of settings to try that were confirmed; the first is the arm TUNED."""


PhaseGenerator = Generator[PhaseRequest, PhaseResult, SearchResult]


def counted(gained: PhaseResult) -> int:
    """Good runs of all arms and programs, warm-ups left out."""
    return sum(len(loop) for one in gained.samples for sample in one for loop in sample.loops)
