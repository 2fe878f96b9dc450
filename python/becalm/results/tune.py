"""The conclusion of a tune study: values only, with one JSON form (docs/reference/json.md).

`becalm.analysis.tune_confirmation` computes them from the fresh, interleaved runs that confirm a choice,
`becalm.report.tune` words and draws them. Spreads are fractions of the mean (0.01 = 1 %); unless stated otherwise,
ratios of spreads are baseline over tuned, so that 3 means a third of the variation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from becalm.nouns.codec import HighBound, decode, plain_dict
from becalm.nouns.domain import Value
from becalm.nouns.excluded import Excluded
from becalm.nouns.finding import Finding, Interval
from becalm.nouns.metric import Metric
from becalm.nouns.result import Result
from becalm.nouns.settings import Settings
from becalm.results.compare import Stopped, Throughput
from becalm.results.design_fit import DesignFit
from becalm.results.export_settings import ProductionPlan

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""The quantiles of single runs in an Arm, for its picture."""


class Trial(msgspec.Struct, frozen=True):
    """A step of the search: the settings, the number of runs, and whether the search retained the settings.

    `spread`: the spread of those runs, a noisy number, never the result; None for a failed trial. `ended_ns`: the time
    after which a run was ended early because it was slow; None where none was.
    """

    number: int
    why: str
    settings: Mapping[str, Value]
    runs: int
    spread: float | None
    best: bool
    ended_ns: int | None = None


class Arm(msgspec.Struct, frozen=True):
    """A set of settings on fresh runs of one program.

    - `spread`: of a typical loop (runs in a row; geometric mean over loops), so that ratios of arms are ratios of these
    - `overall`: the spread of all runs of the arm, over the whole time, drift included
    - `loops`: the spread of each loop
    - `deviations`: the QUANTILES quantiles of single runs about the mean of their loop, as fractions of the mean
    - `metric`: the mean of the metric, in its unit, if one is measured; spreads are then those of the metric
    - `throughput`: the work of the program per second of mean time, if known

    Spreads are infinite where every run failed.
    """

    name: str
    program: str
    settings: Mapping[str, Value]
    runs: int
    failed: int
    mean_ns: Interval
    spread: Interval
    overall: HighBound
    loops: tuple[float, ...] = ()
    deviations: tuple[float, ...] = ()
    metric: Interval | None = None
    throughput: Throughput | None = None


class ArmComparison(msgspec.Struct, frozen=True):
    """An arm against the baseline, for one program.

    - `ratio`: the spread of the baseline over the spread of the arm, with its interval from the paired loops
    - `loops`: the number of paired loops
    - `p_value`: for no difference in spread, from the same loops
    - `detectable`: the true ratio that as many loops would have shown with probability 0.8
    - `loops_needed`: the loops for a true ratio as large as the observed one; None where unknown
    - `f`, `f_df`, `f_p`, `levene_p`, `brown_forsythe_p`: the textbook tests on all runs (F: the larger over the smaller
      variance of wall time over mean)
    - `shift`: the change of the mean time, a fraction, positive is slower, with its interval; `welch_p`, `student_p`:
      its p values
    - `deviation`: where the mean time was minimised, the standard deviation of the baseline over that of the arm, with
      its interval; otherwise None
    """

    arm: str
    program: str
    ratio: Interval
    p_value: float
    loops: int
    detectable: HighBound
    loops_needed: int | None
    f: float
    f_df: tuple[int, int]
    f_p: float
    levene_p: float
    brown_forsythe_p: float
    shift: Interval
    welch_p: float
    student_p: float
    sentence: str = ""
    deviation: Interval | None = None


class AblationEffect(msgspec.Struct, frozen=True):
    """The effect of leaving out one chosen knob, or several as one (joined by AND), for one program.

    - `ratio`: the spread without it over the spread with it (above 1: it helps)
    - `cost`: the change of the mean time that it causes, a fraction, positive is slower
    - `droppable`: whether the data show that the program's spread without it is larger by less than the margin
    - `loops_needed`: the loops that would probably decide; None where unknown
    """

    knob: str
    value: Value
    program: str
    ratio: Interval
    cost: Interval
    droppable: bool
    loops_needed: int | None = None
    sentence: str = ""
    alone: Interval | None = None
    """The change of the mean time if only this one is set; None if leaving it out shows its cost."""


class Transfer(msgspec.Struct, frozen=True):
    """Settings found for one program or on one host (`column`), tried on another (`row`).

    `ratio`: spread of the baseline over spread with the settings.
    """

    row: str
    column: str
    ratio: Interval


class TuneVerdict(Result, frozen=True):
    """The verdict of a tune study.

    - `settings`: the recommended ones: the chosen ones, or those without the expendable ones after a confirmation, or
      none if the chosen ones are not shown to help
    - `droppable`: knobs that may be left out one by one, for every program; leaving out several at once is a guess
      until the arm RECOMMENDED was measured
    - `margin`: the share of spread below which a loss does not matter
    - `production`: the places in which the recommended settings are written on the host, with the values before; None
      for a host that is not a machine
    """

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
    settings: Mapping[str, Value]
    chosen: Mapping[str, Value]
    trials: tuple[Trial, ...] = ()
    arms: tuple[Arm, ...] = ()
    comparisons: tuple[ArmComparison, ...] = ()
    contributions: tuple[AblationEffect, ...] = ()
    droppable: tuple[str, ...] = ()
    margin: float = 0.1
    transfer: tuple[Transfer, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    findings: tuple[Finding, ...] = ()
    fit: DesignFit | None = None
    production: ProductionPlan | None = None
    sentence: str = ""
    metric: Metric | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the documented, versioned form (docs/reference/json.md), with the fields of the fit."""
        return {**super().to_json(), "fit": None if self.fit is None else plain_dict(self.fit)}


def settings_of(verdict: TuneVerdict) -> Settings:
    """Return the recommended settings as a value for hosts."""
    return Settings.of(verdict.settings)


def from_json(value: Mapping[str, Any]) -> TuneVerdict:
    """Return the verdict that `TuneVerdict.to_json` wrote. Raises KeyError, TypeError or ValueError."""
    verdict = decode(TuneVerdict, value)
    return replace(verdict, comparisons=tuple(map(_with_f, verdict.comparisons)))


def _with_f(comparison: ArmComparison) -> ArmComparison:
    """Return a comparison with its F, which JSON lacks where it is infinite, as one of the variances is zero."""
    infinite = math.isnan(comparison.f) and comparison.f_p != 1.0
    return replace(comparison, f=math.inf) if infinite else comparison
