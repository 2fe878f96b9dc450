"""What a tune study measures next and what it gains: the values that its course and whoever measures exchange.

`becalm.tuning` yields a Wish and is sent a Gained; `becalm.verbs.conducting` measures. Pure values.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from becalm import steady
from becalm.history import Floats
from becalm.nouns import Settings
from becalm.search import Ask, Choice, Rule, Sample
from becalm.steadiness import Course
from becalm.verdict import Finding


@dataclass(frozen=True, slots=True)
class Options:
    """How a study is made. `budget_ns` None: no limit in time; `least_runs`: of the search, however small the budget.
    `confirm_loops`, `confirm_runs`: of the confirmation.

    `margin`: a loss of spread smaller than this share does not matter when a setting is left out. `single_out`:
    measure the chosen settings without each one of them. `tried`: named settings to try instead of searching.
    `boot_ns`: how long a boot takes.
    """

    rule: Rule
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
class Wish:
    """What to measure next, and in which phase of the study. `floor`: the built-in kernel as well."""

    ask: Ask
    phase: str
    floor: bool = False


@dataclass(frozen=True, slots=True)
class Gained:
    """What was measured: samples by program, then by arm. CPU times of the first arm by program, one array a loop."""

    samples: tuple[tuple[Sample, ...], ...]
    together: tuple[Sample, ...]
    cpu: tuple[tuple[Floats, ...], ...] = ()
    floor: tuple[Sample, ...] = ()
    took_ns: float = 0.0


@dataclass(slots=True)
class Tuned:
    """What a study came to; `judged` is None when nothing was there to confirm."""

    choice: Choice
    course: list[Course] = field(default_factory=list)
    judged: steady.Judged | None = None
    findings: list[Finding] = field(default_factory=list)
    search_runs: int = 0
    confirm_runs: int = 0
    tried: tuple[str, ...] = ()
    """Names of `Options.tried` that were confirmed; the first is the arm TUNED."""


Coursing = Generator[Wish, Gained, Tuned]


def counted(gained: Gained) -> int:
    """Good runs of all arms and programs, warm-ups left out."""
    return sum(len(loop) for one in gained.samples for sample in one for loop in sample.loops)
