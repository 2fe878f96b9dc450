"""Findings on a fitted response: lack of fit, aliases, powers, outliers, borders, doubts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from becalm.analysis.design_places import ResponseModel
from becalm.nouns.finding import Finding
from becalm.nouns.options.design import FitOptions
from becalm.results.design_fit import ResponseFit, Stationary
from becalm.surfaces.canonical import FLAT
from becalm.surfaces.diagnostics import INFLUENTIAL
from becalm.surfaces.terms import ORDERS
from becalm.wording.design import at, distance
from becalm.wording.findings import finding

FLAT_MODELS = ("mean", "linear", "2fi")
"""The models without curvature."""

PRECISE = 4.0
"""The adequate precision from which a surface can be told from its noise (Box, Hunter & Hunter 1978, 14.2)."""

APART = 0.2
"""The largest difference of adjusted and predicted R2; a larger one indicates too many terms, or a single run that
determines the fit."""


def response_findings(fit: ResponseFit, model: ResponseModel, options: FitOptions) -> Iterator[Finding]:
    """Yield the findings on one response, the gravest first."""
    level = 1 - options.confidence
    name = fit.name
    rows = {model.model: model for model in fit.models}
    chosen = rows.get(fit.model)
    lack = next((row for row in fit.anova if row.source == "lack of fit"), None)
    if lack is not None and lack.p_value < level:
        later = ORDERS[ORDERS.index(fit.model) + 1 :] if fit.model in ORDERS else ORDERS
        estimable = [order for order in later if order in rows and not rows[order].aliased and rows[order].freedom > 0]
        larger = [order for order in estimable if not rows[order].lack_p < level]
        offer_power = fit.power is None and fit.box_cox is not None and fit.box_cox.advised != 1
        yield finding(
            "lack_of_fit",
            {
                "model": fit.model,
                "p_value": lack.p_value,
                "larger": tuple(larger),
                "power": fit.box_cox.advised if offer_power and fit.box_cox is not None else None,
                "curvature": fit.model in FLAT_MODELS and "quadratic" not in estimable,
            },
            name,
        )
    curvature = None if fit.effects is None else fit.effects.curvature
    if fit.effects is not None and curvature is not None and curvature.p_value < level and fit.model in FLAT_MODELS:
        numbers = {"value": curvature.value.value, "low": curvature.value.low, "high": curvature.value.high}
        yield finding(
            "curvature",
            {**numbers, "t": curvature.t, "p_value": curvature.p_value, "freedom": fit.effects.freedom},
            name,
        )
    yield from _doubts(fit, lacking=lack is not None and lack.p_value < level)
    if fit.effects is not None and (chosen is None or fit.model == "mean"):
        saturated = [model for model in fit.models if model.model != "mean" and model.freedom <= 0]
        if saturated:
            real = tuple(effect.term for effect in fit.effects.effects if effect.real)
            yield finding("saturated", {"model": saturated[0].model, "real": real}, name)
    aliased = next((model for model in fit.models if model.aliased), None)
    partial = None if fit.effects is None else fit.effects.partial
    if partial:
        yield finding("partly_aliased", {"share": partial}, name)
    elif aliased is not None and (aliased.model != "cubic" or (lack is not None and lack.p_value < level)):
        yield finding("aliased_terms", {"model": aliased.model, "terms": aliased.aliased}, name)
    yield from _power(fit)
    yield from _single_runs(fit, level)
    yield from _best(fit, model)
    if fit.missing:
        yield finding("missing_runs", {"missing": fit.missing, "runs": fit.runs}, name)


def _doubts(fit: ResponseFit, *, lacking: bool) -> Iterator[Finding]:
    if fit.model == "mean":
        if not (math.isnan(fit.detectable) or fit.power is not None or lacking or fit.certain):
            yield finding("no_effect", {"detectable": fit.detectable, "mean": fit.mean, "runs": fit.runs}, fit.name)
        return
    if not math.isnan(fit.precision) and fit.precision < PRECISE:
        yield finding("imprecise", {"precision": fit.precision, "needed": PRECISE}, fit.name)
    if fit.adjusted - fit.predicted > APART:
        yield finding("overfitted", {"adjusted": fit.adjusted, "predicted": fit.predicted}, fit.name)
    if fit.sd > 0 and all(math.isnan(model.lack_p) for model in fit.models if model.model == fit.model):
        yield finding("untested_fit", {"model": fit.model}, fit.name)


def _power(fit: ResponseFit) -> Iterator[Finding]:
    lowest = min(run.observed for run in fit.fitted)
    if lowest <= 0:
        yield finding("no_power", {"smallest": lowest}, fit.name)
    elif fit.box_cox is not None and fit.power is None and fit.box_cox.advised != 1:
        box_cox = fit.box_cox
        numbers = {"power": box_cox.power.value, "low": box_cox.power.low, "high": box_cox.power.high}
        yield finding("power", {**numbers, "advised": box_cox.advised}, fit.name)


def _single_runs(fit: ResponseFit, level: float) -> Iterator[Finding]:
    for run in fit.fitted:
        if run.outlier_p < level:
            numbers = {"run": run.run, "studentised": run.deleted, "p_value": run.outlier_p}
            yield finding("fit_outlier", numbers, fit.name)
    influential = [run for run in fit.fitted if run.cook > INFLUENTIAL]
    if influential:
        worst = max(influential, key=lambda run: run.cook)
        yield finding(
            "influential",
            {"runs": tuple(run.run for run in influential), "run": worst.run, "cook": worst.cook},
            fit.name,
        )


def _best(fit: ResponseFit, model: ResponseModel) -> Iterator[Finding]:
    best = fit.best
    if best is None:
        return
    # An interval that reaches the opposite end of the range says nothing about places beyond this end.
    open_ends = {
        factor.name
        for factor, place in zip(model.factors, best.place, strict=True)
        if not factor.categorical and min(-factor.coded(place.low), factor.coded(place.high)) > 1 - 1e-6
    }
    if at_border := tuple(name for name in best.border if name not in open_ends):
        yield finding("at_border", {"factors": at_border, "goal": fit.goal.kind}, fit.name)
    stationary = fit.stationary
    if stationary is not None and fit.goal.kind != "target":
        goal_kind = {"max": "maximum", "min": "minimum"}[fit.goal.kind]
        if stationary.place is not None and (not stationary.inside or stationary.kind != goal_kind):
            numbers = {
                "kind": stationary.kind,
                "inside": stationary.inside,
                "wanted": goal_kind,
                "levels": stationary.place.levels,
                "factors": tuple(factor.name for factor in model.factors),
                "place": at(stationary.place, model.factors),
                "distance": distance(stationary.place, model.factors),
            }
            yield finding("stationary", numbers, fit.name)
    if stationary is not None and (flat := _flat(stationary)):
        ranges = [factor.name for factor in model.factors if not factor.categorical]
        directions = tuple(
            ", ".join(
                f"{name} {component:+.2f}" for name, component in zip(ranges, stationary.directions[index], strict=True)
            )
            for index, _ in flat
        )
        yield finding("near_ridge", {"directions": directions, "shares": tuple(share for _, share in flat)}, fit.name)
    highest = float(model.surface.fit.leverage.max())
    if best.leverage > highest:
        yield finding("extrapolated", {"leverage": best.leverage, "largest": highest}, fit.name)


def _flat(level: Stationary) -> list[tuple[int, float]]:
    """Return the directions in which a surface hardly bends, by index, with their share of the strongest bend."""
    strongest = max((abs(value) for value in level.eigenvalues), default=0.0)
    if strongest == 0 or level.kind == "plane":
        return []
    shares = [(index, abs(value) / strongest) for index, value in enumerate(level.eigenvalues)]
    return [(index, share) for index, share in shares if share < FLAT]
