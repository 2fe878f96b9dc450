"""The choice of a model: sequential sums of squares, models compared, lack of fit against pure error.

Myers, Montgomery & Anderson-Cook 2016 (Response Surface Methodology, 4th ed., chapters 2 and 6). The F tests of `table`
divide by the residual mean square of the chosen model, as R's `anova` of one model; those of `compared` by that of the
larger of two models, as R's `anova` of two.

Public: Test, LackOfFit, Compared, table, terms_of, lack_of_fit, compared, chosen, summary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from becalm.stats.arrays import Floats
from becalm.surfaces.least_squares import ROUNDING, beyond_rounding
from becalm.surfaces.surface import Data, Surface, fitted
from becalm.surfaces.terms import ORDERS, Term

WRITTEN = 1000
"""Steps of their last digit that values must span before a residual of half a step is taken for their rounding."""


@dataclass(frozen=True, slots=True)
class Test:
    """A row of an analysis of variance. `f` and `p_value` are NaN where there is nothing to divide by."""

    source: str
    freedom: int
    sum_of_squares: float
    f: float = math.nan
    p_value: float = math.nan

    @property
    def mean_square(self) -> float:
        """Sum of squares over degrees of freedom."""
        return self.sum_of_squares / self.freedom if self.freedom else math.nan


@dataclass(frozen=True, slots=True)
class LackOfFit:
    """The division of residuals: what the model leaves (`lack`), and the difference of runs that should be equal
    (`pure`)."""

    lack: Test
    pure: Test

    @property
    def tested(self) -> bool:
        """Whether there are runs for both."""
        return not math.isnan(self.lack.p_value)


@dataclass(frozen=True, slots=True)
class Compared:
    """A model among those that were tried. `added`: what its terms add to the model before; `fit` tests what it leaves.

    `r_squared` as usual, adjusted for the number of terms, and for predicting each run from the others (`predicted`,
    from `press`); `precision`: adequate precision, the range of the predictions over their mean standard error, which
    should be above 4 (Box, Hunter & Hunter 1978, 14.2).
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
    """Return sequential sums of squares: blocks, then the terms of each order, then the residual."""
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
    """Return the sequential test of every term of one order, by its factors and their powers.

    The contrasts of a factor with several choices are one term.
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
        # Nothing over nothing is no test: exact data do not lack fit.
        return (math.inf, 0.0) if gain > 0 else (math.nan, math.nan)
    f = gain / count / mse
    return f, float(fdtrc(count, freedom, f))


def lack_of_fit(surface: Surface) -> LackOfFit:
    """Return residuals split into pure error and the rest. Runs at one point are alike within a block, not across
    blocks."""
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
    """Return half a unit of the last decimal place that values are written with; 0 for values of few digits."""
    for places in range(13):
        step = 10.0**-places
        if (np.abs(np.round(y, places) - y) <= ROUNDING * np.abs(y)).all():
            return step / 2 * (1 + 1e-6) if float(np.ptp(y)) >= WRITTEN * step else 0.0
    return 0.0


def compared(data: Data) -> tuple[Compared, ...]:
    """Return the mean alone and every order of polynomial, as long as there are terms and runs for them."""
    compareds: list[Compared] = []
    for model in ("mean", *ORDERS):
        terms = () if model == "mean" else data.frame.terms(model)
        if compareds and len(terms) == len(compareds[-1].surface.terms):
            continue
        surface = fitted(data, terms)
        compareds.append(summary(model, surface, compareds[-1].surface if compareds else None))
        if surface.fit.freedom <= 0:
            break
    return tuple(compareds)


def summary(model: str, surface: Surface, before: Surface | None = None) -> Compared:
    """Return the figures of one model."""
    fit, y = surface.fit, surface.data.y
    total = float(((y - y.mean()) ** 2).sum())
    added = Test(model, 0, 0.0) if before is None else _added(model, before, surface, fit.mse, fit.freedom)
    press = fit.press
    return Compared(
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
        # A constant says the same everywhere.
        return math.nan
    error = math.sqrt(len(fit.kept) * fit.mse / len(fit.fitted)) if fit.freedom else math.nan
    return float(np.ptp(fit.fitted)) / error if error > 0 else math.nan


def chosen(models: Sequence[Compared], level: float) -> Compared:
    """Return the simplest model that fits.

    Of those whose terms can all be estimated with runs left for the error: the largest whose terms add something at
    this level; and when it lacks fit, the next larger that does not, or else the one that predicts best. One that
    predicts each run from the others worse than their mean does gives way to the smaller one that does it best, of
    those whose own terms add something, or that lack no fit.
    """
    usable = [model for model in models if not model.aliased and model.tested]
    if not usable:
        return models[0]
    place = max((index for index, each in enumerate(usable) if each.added.p_value < level), default=0)
    if place and _misleads(usable[place], usable[0]):
        smaller = [each for each in usable[1:place] if each.added.p_value < level or not _lacks(each, level)]
        best = max([*smaller, usable[place]], key=lambda each: each.predicted)
        if best is not usable[place]:
            return best
    if not _lacks(usable[place], level):
        return usable[place]
    for result in usable[place + 1 :]:
        if not (_lacks(result, level) or _misleads(result, usable[0])):
            return result
    return max(usable[place:], key=lambda each: each.predicted)


def _misleads(model: Compared, mean: Compared) -> bool:
    """Return whether a model predicts runs worse than no model at all."""
    return model.predicted < mean.predicted


def _lacks(model: Compared, level: float) -> bool:
    return model.fit.tested and model.fit.lack.p_value < level


def by_name(models: Sequence[Compared]) -> Mapping[str, Compared]:
    """Return models by their name."""
    return {model.model: model for model in models}
