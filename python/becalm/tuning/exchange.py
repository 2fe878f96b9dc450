"""The requests and results of a tune study, which its phases and the measuring code exchange.

`becalm.tuning.phases` yields a PhaseRequest and is sent a PhaseResult; `becalm.study.tune` measures.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

import msgspec

from becalm.analysis import tune_confirmation
from becalm.methods.protocol import Ask, Choice, Sample
from becalm.nouns.finding import Finding
from becalm.results.design_fit import DesignFit
from becalm.results.tune import Trial
from becalm.stats.arrays import Floats


class PhaseRequest(msgspec.Struct, frozen=True):
    """The next measurement, and its phase of the study. `floor`: whether to measure the built-in kernel, too.

    `within_ns`: after `fewest` loops a further one is measured only if it is expected to end within this time.
    """

    ask: Ask
    phase: str
    floor: bool = False
    within_ns: float | None = None
    fewest: int = 1


class PhaseResult(msgspec.Struct, frozen=True):
    """The results of a request.

    - `samples`: the samples by program, then by arm; `together`: those of all programs together, by arm.
    - `cpu`: the CPU times of the first arm by program, ns, one array for each loop.
    - `floor`: the sample of the built-in kernel.
    """

    samples: tuple[tuple[Sample, ...], ...]
    together: tuple[Sample, ...]
    cpu: tuple[tuple[Floats, ...], ...] = ()
    floor: tuple[Sample, ...] = ()
    took_ns: float = 0.0


@dataclass(slots=True)
class SearchResult:
    """The result of a study. `judged`: empty if there was nothing to confirm."""

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
    """The names of the tried settings that were confirmed; the first is the arm TUNED."""


PhaseGenerator = Generator[PhaseRequest, PhaseResult, SearchResult]


def count_runs(gained: PhaseResult) -> int:
    """Return the number of good runs of all arms and programs, without warm-ups."""
    return sum(len(loop) for samples in gained.samples for sample in samples for loop in sample.loops)
