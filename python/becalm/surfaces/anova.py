"""The choice of a model: sequential sums of squares, comparison of models, lack of fit against pure error.

Myers, Montgomery & Anderson-Cook 2016 (Response Surface Methodology, 4th ed., chapters 2 and 6). The F tests of `table`
divide by the residual mean square of the chosen model, like R's `anova` of one model; those of `compare_models` by that
of the larger of two models, like R's `anova` of two.

Public: Test, LackOfFit, ModelSummary, table, terms_of, lack_of_fit, compare_models, choose_model, summary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from scipy.special import fdtrc

from becalm.stats.arrays import Floats
from becalm.surfaces.least_squares import ROUNDING, beyond_rounding
from becalm.surfaces.surface import Data, Surface, fitted
from becalm.surfaces.terms import ORDERS, Term

WRITTEN = 1000
"""Steps of the last digit that the values must span before residuals of half a step count as rounding."""


class Test(msgspec.Struct, frozen=True):
    """A row of an analysis of variance. `f` and `p_value` are NaN where there is no error to divide by."""

    source: str
    freedom: int
    sum_of_squares: float
    f: float = math.nan
    p_value: float = math.nan

    @property
    def mean_square(self) -> float:
        """Sum of squares over degrees of freedom."""
        return self.sum_of_squares / self.freedom if self.freedom else math.nan


class LackOfFit(msgspec.Struct, frozen=True):
    """The division of the residuals into lack of fit (`lack`) and pure error (`pure`), the spread of repeated runs."""

    lack: Test
    pure: Test

    @property
    def tested(self) -> bool:
        """Whether there are degrees of freedom for both parts."""
        return not math.isnan(self.lack.p_value)


class ModelSummary(msgspec.Struct, frozen=True):
    """A model among those that were tried.

    - `added`: the test of the terms that the model before it lacks
    - `fit`: the test of its lack of fit
    - `r_squared`, `adjusted`, `predicted`: R2 as usual, adjusted for the number of terms, and for predicting each run
      from the others (from `press`)
    - `precision`: adequate precision, the range of the predictions over their mean standard error, which should be
      above 4 (Box, Hunter & Hunter 1978, 14.2)
    """

    model: str
    surface: Surface
    added: Test
    fit: LackOfFit
    r_squared: float
    adjusted: float
    predicted: float
    press: float
    precision: float

    @property
    def aliased(self) -> bool:
        """Whether some of its terms cannot be estimated."""
        return bool(self.surface.fit.aliased)

    @property
    def tested(self) -> bool:
        """Whether runs are left for the error."""
        return self.surface.fit.freedom > 0


def table(surface: Surface) -> tuple[Test, ...]:
    """Return the sequential tests: blocks, then the terms of each order, then the residual."""
    data, mse = surface.data, surface.fit.mse
    rows: list[Test] = []
    before = fitted(Data(data.frame, data.points, np.zeros_like(data.blocks), data.y), ())
    steps = [("blocks", fitted(data, ()))] if surface.block_count else []
    for order in ORDERS:
        if any(term.order == order for term in surface.terms):
            allowed = ORDERS[: ORDERS.index(order) + 1]
            steps.append((order, fitted(data, [term for term in surface.terms if term.order in allowed])))
    for source, now in steps:
        rows.append(_added(source, before, now, mse, surface.fit.freedom))
        before = now
    return (*rows, Test("residual", surface.fit.freedom, surface.fit.sse))


def terms_of(surface: Surface, order: str) -> Mapping[tuple[tuple[int, int], ...], Test]:
    """Return the sequential test of every term of one order; keys are pairs of a factor and its power.

    The contrasts of a factor with several choices count as one term.
    """
    data, fit = surface.data, surface.fit
    held: list[Term] = [term for term in surface.terms if ORDERS.index(term.order) < ORDERS.index(order)]
    groups: dict[tuple[tuple[int, int], ...], list[Term]] = {}
    for term in surface.terms:
        if term.order == order:
            pairs = zip(data.frame.variables, term.exponents, strict=True)
            groups.setdefault(tuple((factor, power) for (factor, _), power in pairs if power), []).append(term)
    before, tests = fitted(data, held), {}
    for key, terms in groups.items():
        held += terms
        now = fitted(data, held)
        tests[key] = _added(order, before, now, fit.mse, fit.freedom)
        before = now
    return tests


def _added(source: str, before: Surface, now: Surface, mse: float, freedom: int) -> Test:
    count = before.fit.freedom - now.fit.freedom
    gain = before.fit.sse - now.fit.sse
    gain = gain if gain > ROUNDING * before.fit.sse else 0.0
    return Test(source, count, gain, *_f(gain, count, mse, freedom))


def _f(gain: float, count: int, mse: float, freedom: int) -> tuple[float, float]:
    if not count or not freedom:
        return math.nan, math.nan
    if mse <= 0:
        # Zero over zero is no test: exact data have no lack of fit.
        return (math.inf, 0.0) if gain > 0 else (math.nan, math.nan)
    f = gain / count / mse
    return f, float(fdtrc(count, freedom, f))


def lack_of_fit(surface: Surface) -> LackOfFit:
    """Return the residuals split into pure error and lack of fit. Runs at one point are repeats within a block only."""
    data = surface.data
    keys = np.column_stack([data.points.round(7) + 0.0, data.blocks])
    _, place, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    place = np.ravel(place)
    means = np.bincount(place, weights=data.y) / count
    error = float((beyond_rounding(data.y - means[place], data.y) ** 2).sum())
    repeats = len(data.y) - len(count)
    freedom = surface.fit.freedom - repeats
    rest = max(0.0, surface.fit.sse - error)
    if not error and repeats and float(np.abs(surface.fit.residuals).max()) <= _half_a_step(data.y):
        rest = 0.0
    pure = Test("pure error", repeats, error)
    return LackOfFit(Test("lack of fit", freedom, rest, *_f(rest, max(0, freedom), pure.mean_square, repeats)), pure)


def _half_a_step(y: Floats) -> float:
    """Return half a step of the last decimal place of the values; 0 where they span only few steps."""
    for places in range(13):
        step = 10.0**-places
        if (np.abs(np.round(y, places) - y) <= ROUNDING * np.abs(y)).all():
            return step / 2 * (1 + 1e-6) if float(np.ptp(y)) >= WRITTEN * step else 0.0
    return 0.0


def compare_models(data: Data) -> tuple[ModelSummary, ...]:
    """Return the mean and the polynomials of every order for which there are terms and runs, smallest first."""
    summaries: list[ModelSummary] = []
    for model in ("mean", *ORDERS):
        terms = () if model == "mean" else data.frame.terms(model)
        if summaries and len(terms) == len(summaries[-1].surface.terms):
            continue
        surface = fitted(data, terms)
        summaries.append(summary(model, surface, summaries[-1].surface if summaries else None))
        if surface.fit.freedom <= 0:
            break
    return tuple(summaries)


def summary(model: str, surface: Surface, before: Surface | None = None) -> ModelSummary:
    """Return the summary of one model, tested against the model before it."""
    fit, y = surface.fit, surface.data.y
    total = float(((y - y.mean()) ** 2).sum())
    added = Test(model, 0, 0.0) if before is None else _added(model, before, surface, fit.mse, fit.freedom)
    press = fit.press
    return ModelSummary(
        model=model,
        surface=surface,
        added=added,
        fit=lack_of_fit(surface),
        r_squared=1 - fit.sse / total,
        adjusted=1 - fit.mse / (total / (len(y) - 1)),
        predicted=1 - press / total,
        press=press,
        precision=_precision(surface),
    )


def _precision(surface: Surface) -> float:
    fit = surface.fit
    if not surface.terms and not surface.block_count:
        # A constant predicts the same everywhere.
        return math.nan
    error = math.sqrt(len(fit.columns) * fit.mse / len(fit.fitted)) if fit.freedom else math.nan
    return float(np.ptp(fit.fitted)) / error if error > 0 else math.nan


def choose_model(models: Sequence[ModelSummary], level: float) -> ModelSummary:
    """Return the simplest model that fits.

    Among the models whose terms can all be estimated with runs left for the error, this is the largest whose terms add
    something at this level. If it lacks fit, it is the next larger model that does not, or else the one that predicts
    best. A model that predicts each run from the others worse than their mean does is replaced by the smaller model
    that predicts best, among those whose terms add something or that do not lack fit.
    """
    usable = [model for model in models if not model.aliased and model.tested]
    if not usable:
        return models[0]
    place = max((index for index, model in enumerate(usable) if model.added.p_value < level), default=0)
    if place and _misleads(usable[place], usable[0]):
        smaller = [model for model in usable[1:place] if model.added.p_value < level or not _lacks(model, level)]
        best = max([*smaller, usable[place]], key=lambda model: model.predicted)
        if best is not usable[place]:
            return best
    if not _lacks(usable[place], level):
        return usable[place]
    for result in usable[place + 1 :]:
        if not (_lacks(result, level) or _misleads(result, usable[0])):
            return result
    return max(usable[place:], key=lambda model: model.predicted)


def _misleads(model: ModelSummary, mean: ModelSummary) -> bool:
    """Return whether a model predicts runs worse than the mean does."""
    return model.predicted < mean.predicted


def _lacks(model: ModelSummary, level: float) -> bool:
    return model.fit.tested and model.fit.lack.p_value < level


def by_name(models: Sequence[ModelSummary]) -> Mapping[str, ModelSummary]:
    """Return models keyed by their names."""
    return {model.model: model for model in models}
