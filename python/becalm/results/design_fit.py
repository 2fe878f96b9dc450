"""The result DesignFit: the model of each response of a filled design, and the best compromise of several responses.

`becalm.analysis.design_fit` makes it. Missing numbers (of a test without runs left for it) are NaN, and null in JSON.
Places are both in coded units and as levels in the factors' own units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from becalm.nouns.codec import Json, decode
from becalm.nouns.factor import Factor, Level
from becalm.nouns.finding import Finding, Interval
from becalm.nouns.goal import Goal
from becalm.nouns.result import Result

GUESSED = 4.0
"""The leverage above which a prediction is only a guess: it is twice as uncertain as a single run."""


class SurfacePoint(msgspec.Struct, frozen=True):
    """A point: `coded` and `levels` of each factor, and the response of the surface there."""

    coded: tuple[float, ...]
    levels: tuple[Level, ...]
    value: float


class Coefficient(msgspec.Struct, frozen=True):
    """A term with its estimate, standard error, Student's t, p-value and interval, in units of the fitted response.

    `exponents`: the power of each variable (a range, or a contrast of choices); empty for constant and blocks.
    """

    term: str
    estimate: float
    error: float
    t: float
    p_value: float
    low: float
    high: float
    exponents: tuple[int, ...] = ()


class AnovaRow(msgspec.Struct, frozen=True):
    """A line of the analysis of variance. `group`: the line of which it is a part; empty for lines that add up."""

    source: str
    freedom: int
    sum_of_squares: float
    mean_square: float
    f: float
    p_value: float
    group: str = ""


class ModelRow(msgspec.Struct, frozen=True):
    """A model that was tried.

    - `terms`: the number of its terms, with the constant; `freedom`: the degrees of freedom left for the error.
    - `sd`: the standard deviation of the residuals.
    - `added_f`, `added_p`: the test of its terms against the model before it.
    - `lack_f`, `lack_p`: the test of its lack of fit.
    - `r_squared`, `adjusted`, `predicted`: shares of the variance.
    - `precision`: the adequate precision.
    - `aliased`: the terms that cannot be estimated, each with the terms that it is aliased with.
    """

    model: str
    terms: int
    freedom: int
    sd: float
    added_f: float
    added_p: float
    lack_f: float
    lack_p: float
    r_squared: float
    adjusted: float
    predicted: float
    press: float
    precision: float
    aliased: tuple[str, ...]


class FittedRun(msgspec.Struct, frozen=True):
    """A run of the experiment and its residual.

    - `run`: its number in the order of the experiment; `coded`: its place.
    - `observed`, `fitted`: the measured and the modelled value, in units of the response.
    - `residual`: in units of the fit.
    - `studentised`, `deleted`: the studentised residual with all runs, and without this one.
    - `cook`: Cook's distance; `score`: the normal score.
    - `outlier_p`: the p value for the run being no outlier.
    """

    run: int
    block: int
    coded: tuple[float, ...]
    observed: float
    fitted: float
    residual: float
    leverage: float
    studentised: float
    deleted: float
    cook: float
    score: float
    outlier_p: float


class PowerCurve(msgspec.Struct, frozen=True):
    """Box and Cox's power with its interval, the plainest power in the interval, and the curve of the log
    likelihood."""

    power: Interval
    advised: float
    powers: tuple[float, ...]
    likelihoods: tuple[float, ...]
    limit: float


class Stationary(msgspec.Struct, frozen=True):
    """Canonical analysis at the best choices: the level place of the surface, whether it lies within the ranges, its
    kind, eigenvalues with their directions, and the number of eigenvalues so small that they are ridges."""

    place: SurfacePoint | None
    inside: bool
    kind: str
    eigenvalues: tuple[float, ...]
    directions: tuple[tuple[float, ...], ...]
    ridges: int


class EffectRow(msgspec.Struct, frozen=True):
    """An effect of a two-level design, from low to high.

    `real`: it exceeds its own margin; `certain`: it exceeds the joint margin of all effects.
    `t`, `p_value`: the test against pure error; NaN where Lenth's method judges.
    """

    term: str
    effect: float
    sum_of_squares: float
    share: float
    score: float
    real: bool
    certain: bool
    t: float = math.nan
    p_value: float = math.nan


class Curvature(msgspec.Struct, frozen=True):
    """The test of curvature with one degree of freedom: the height of the centre above the mean of the corners, with
    its interval, Student's t on the pure error, and the p-value."""

    value: Interval
    t: float
    p_value: float


class EffectTable(msgspec.Struct, frozen=True):
    """Effects, the largest first, with their standard error and its margins.

    - `freedom`: the degrees of freedom of the pure error behind it; 0 for Lenth's pseudo standard error
    - `partial`: None where every two effects are aliased wholly or not at all; otherwise effects are those of single
      factors, and it is the largest part of an interaction of two in one of them
    - `curvature`: None without centre points or pure error
    """

    effects: tuple[EffectRow, ...]
    error: float
    margin: float
    simultaneous: float
    partial: float | None = None
    freedom: int = 0
    curvature: Curvature | None = None


class FactorCurve(msgspec.Struct, frozen=True):
    """The response along one factor (by its number) through the best place: `values` at places in coded units, with the
    interval of the mean at each."""

    factor: int
    coded: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


class BestPlace(msgspec.Struct, frozen=True):
    """The best point within the ranges.

    - `value`: the response with the interval of its mean there
    - `band`: the interval of the best value wherever it is (Scheffe)
    - `next_run`: the interval of one more run
    - `place`: for each range the interval of the best point, NaN for choices
    - `shares`: the probability of each choice of a factor to be the best
    - `border`: factors that are held by an end of their range
    - `leverage`: the variance of the prediction there over that of a run
    """

    at: SurfacePoint
    value: Interval
    band: Interval
    next_run: Interval
    place: tuple[Interval, ...]
    shares: tuple[tuple[float, ...], ...]
    border: tuple[str, ...]
    leverage: float = math.nan

    @property
    def beyond(self) -> bool:
        """Whether the model only guesses there, because there are no runs nearby."""
        return self.leverage > GUESSED


class ResponseFit(msgspec.Struct, frozen=True):
    """The fit of one response.

    - `power`: the power of the response, 0 for the logarithm; None for the response itself
    - `constant`: the surface at the centre, the mean of the blocks, in units of the fit
    - `detectable`: the smallest effect of a factor, from low to high in units of the fit, that would have been seen in
      four of five such experiments
    """

    name: str
    goal: Goal
    power: float | None
    runs: int
    missing: int
    mean: float
    model: str
    requested: bool
    models: tuple[ModelRow, ...]
    coefficients: tuple[Coefficient, ...]
    constant: float
    anova: tuple[AnovaRow, ...]
    sd: float
    r_squared: float
    adjusted: float
    predicted: float
    press: float
    precision: float
    detectable: float
    box_cox: PowerCurve | None
    effects: EffectTable | None
    stationary: Stationary | None
    steepest: tuple[float, ...]
    ridge: tuple[SurfacePoint, ...]
    path: tuple[SurfacePoint, ...]
    best: BestPlace | None
    fitted: tuple[FittedRun, ...]
    curves: tuple[FactorCurve, ...] = ()
    sentence: str = ""

    @property
    def certain(self) -> tuple[str, ...]:
        """Effects above the simultaneous margin: those that the runs show for any fitted model."""
        return () if self.effects is None else tuple(effect.term for effect in self.effects.effects if effect.certain)


class Compromise(msgspec.Struct, frozen=True):
    """The most desirable point for all responses: the overall desirability and that of each response, from 0 to 1, the
    responses there with their intervals, and for each range the interval of the most desirable place."""

    at: SurfacePoint
    desirability: float
    desirabilities: tuple[float, ...]
    responses: tuple[Interval, ...]
    place: tuple[Interval, ...]


class DesignFit(Result, frozen=True):
    """A filled design. `seed`: the seed of the draws for the intervals of places."""

    KIND = "design fit"

    file: str
    factors: tuple[Factor, ...]
    runs: int
    blocks: int
    confidence: float
    seed: int
    responses: tuple[ResponseFit, ...]
    compromise: Compromise | None
    findings: tuple[Finding, ...] = ()
    sentence: str = ""

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> DesignFit:
        """Return the value that this or an earlier version wrote. Raises KeyError, TypeError or ValueError."""
        return decode(cls, value)
