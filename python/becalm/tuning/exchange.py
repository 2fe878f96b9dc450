"""The requests and results of a tune study: the values that its course and the measuring exchange.

`becalm.tuning.phases` yields a PhaseRequest and is sent a PhaseResult; `becalm.study.tune` measures. Pure values.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from becalm.analysis import tune_confirmation
from becalm.methods.protocol import Ask, Choice, Sample
from becalm.nouns.finding import Finding
from becalm.results.design_fit import DesignFit
from becalm.results.tune import Trial
from becalm.stats.arrays import Floats


@dataclass(frozen=True, slots=True)
class PhaseRequest:
    """The next measurement, and its phase of the study. `floor`: the built-in kernel as well.

    `within_ns`: after `fewest` of its loops a further one is measured only where that seems to end within this time.
    """

    ask: Ask
    phase: str
    floor: bool = False
    within_ns: float | None = None
    fewest: int = 1


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """The measurements: samples by program, then by arm. CPU times of the first arm by program, one array a loop."""

    samples: tuple[tuple[Sample, ...], ...]
    together: tuple[Sample, ...]
    cpu: tuple[tuple[Floats, ...], ...] = ()
    floor: tuple[Sample, ...] = ()
    took_ns: float = 0.0


@dataclass(slots=True)
class SearchResult:
    """The result of a study; `judged` is empty when there was nothing to confirm."""

    choice: Choice
    trials: list[Trial] = field(default_factory=list)
    judged: tune_confirmation.Confirmation = field(default_factory=tune_confirmation.Confirmation)
    findings: list[Finding] = field(default_factory=list)
    search_runs: int = 0
    confirm_runs: int = 0
    fit: DesignFit | None = None
    """The surface through the trials, where factors were varied."""
    noise: float = 0.0
    """The noise of single runs over the whole search, a share of their mean; 0 where it is not known."""
    gain: float = 0.0
    """The share of the time that the chosen settings saved in the search; 0 where it is not known."""
    tried: tuple[str, ...] = ()
    """Names of settings to try that were confirmed; the first is the arm TUNED."""


PhaseGenerator = Generator[PhaseRequest, PhaseResult, SearchResult]


def counted(gained: PhaseResult) -> int:
    """Return good runs of all arms and programs, warm-ups left out."""
    return sum(len(loop) for one in gained.samples for sample in one for loop in sample.loops)
