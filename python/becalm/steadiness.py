"""What a tune study concludes: values only, with one JSON form (docs/json.md).

`becalm.steady` computes them from the fresh, interleaved runs that confirm a choice, `becalm.report.steady` words and
draws them. Spreads are fractions of the mean (0.01 = 1 %); ratios of spreads are untouched over tuned where not said
otherwise, so that 3 means three times as steady.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from becalm._version import VERSION
from becalm.nouns import Settings
from becalm.verdict import SCHEMA, Finding, Interval, Stopped, finite

UNTOUCHED = "untouched"
"""Name of the arm without any settings."""

TUNED = "tuned"
"""Name of the arm with the settings that the search chose."""


@dataclass(frozen=True, slots=True)
class Course:
    """One step of the search: what was tried, on how many runs, and whether it was kept.

    `spread` is what those runs showed: a noisy number, never the result. None for a failed trial.
    """

    number: int
    why: str
    settings: Mapping[str, Any]
    runs: int
    spread: float | None
    best: bool


@dataclass(frozen=True, slots=True)
class Arm:
    """One set of settings on fresh runs of one program.

    `spread`: within the loops (runs in a row), root mean square. `overall`: all runs of the arm, over the whole time.
    """

    name: str
    program: str
    settings: Mapping[str, Any]
    runs: int
    failed: int
    mean_ns: Interval
    spread: Interval
    overall: float


@dataclass(frozen=True, slots=True)
class Steadier:
    """An arm against the untouched machine, for one program.

    `ratio`: spread untouched over spread of the arm, with its interval from the paired loops. `p_value`: of no
    difference in spread, from the same loops. `f`, `f_df`, `f_p`, `levene_p`, `brown_forsythe_p`: the textbook tests
    on all runs (F: larger over smaller variance of wall time over mean). `shift`: change of the mean time, a
    fraction, positive is slower, with interval; `welch_p` and `student_p` for it.
    """

    arm: str
    program: str
    ratio: Interval
    p_value: float
    f: float
    f_df: tuple[int, int]
    f_p: float
    levene_p: float
    brown_forsythe_p: float
    shift: Interval
    welch_p: float
    student_p: float
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Contribution:
    """One kept knob: what happens without it, everything else as chosen.

    `ratio`: spread without it over spread with it (above 1: it helps). `cost`: change of the mean time that it
    causes, a fraction, positive is slower. `droppable`: leaving it out loses nothing that matters.
    """

    knob: str
    value: Any
    ratio: Interval
    cost: Interval
    droppable: bool
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Excluded:
    """A knob that was not tried, and why."""

    knob: str
    reason: str


@dataclass(frozen=True, slots=True)
class Steadiness:
    """The verdict of a tune study. `settings` is what it recommends: the chosen ones without what may be dropped."""

    kind: str
    study: int | None
    host: str
    programs: tuple[str, ...]
    method: str
    objective: str
    stopped: Stopped
    confidence: float
    seed: int
    elapsed_ns: int
    search_runs: int
    confirm_runs: int
    settings: Mapping[str, Any]
    chosen: Mapping[str, Any]
    course: tuple[Course, ...] = ()
    arms: tuple[Arm, ...] = ()
    steadier: tuple[Steadier, ...] = ()
    contributions: tuple[Contribution, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    findings: tuple[Finding, ...] = ()
    sentence: str = ""

    def to_json(self) -> dict[str, Any]:
        """The documented, versioned form (docs/json.md)."""
        cleaned = finite({"becalm": VERSION, "schema": SCHEMA, **asdict(self)})
        assert isinstance(cleaned, dict)
        return cleaned


def settings_of(found: Steadiness) -> Settings:
    """The recommended settings as a value that a host takes."""
    return Settings.of(found.settings)
