"""What a person should know of a fitted response: lack of fit, aliases, powers, outliers, borders, doubts."""

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
"""Models without a term that bends."""

PRECISE = 4.0
"""Adequate precision above which a surface is told from its noise (Box, Hunter & Hunter 1978, 14.2)."""

APART = 0.2
"""Adjusted and predicted R2 that differ by more speak of a model with too many terms, or of one run that rules it."""


def noticed(fit: ResponseFit, model: ResponseModel, options: FitOptions) -> Iterator[Finding]:
    """The findings of one response, the gravest first."""
    level = 1 - options.confidence
    name = fit.name
    rows = {model.model: model for model in fit.models}
    chosen = rows.get(fit.model)
    lack = next((row for row in fit.anova if row.source == "lack of fit"), None)
    if lack is not None and lack.p_value < level:
        after = ORDERS[ORDERS.index(fit.model) + 1 :] if fit.model in ORDERS else ORDERS
        able = [each for each in after if each in rows and not rows[each].aliased and rows[each].freedom > 0]
        larger = [each for each in able if not rows[each].lack_p < level]
        offered = fit.power is None and fit.box_cox is not None and fit.box_cox.advised != 1
        yield finding(
            "lack_of_fit",
            {
                "model": fit.model,
                "p_value": lack.p_value,
                "larger": tuple(larger),
                "power": fit.box_cox.advised if offered and fit.box_cox is not None else None,
                "curvature": fit.model in FLAT_MODELS and "quadratic" not in able,
            },
            name,
        )
    bend = None if fit.effects is None else fit.effects.curvature
    if fit.effects is not None and bend is not None and bend.p_value < level and fit.model in FLAT_MODELS:
        numbers = {"value": bend.value.value, "low": bend.value.low, "high": bend.value.high}
        yield finding(
            "curvature", {**numbers, "t": bend.t, "p_value": bend.p_value, "freedom": fit.effects.freedom}, name
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
    low = min(each.observed for each in fit.fitted)
    if low <= 0:
        yield finding("no_power", {"smallest": low}, fit.name)
    elif fit.box_cox is not None and fit.power is None and fit.box_cox.advised != 1:
        found = fit.box_cox
        numbers = {"power": found.power.value, "low": found.power.low, "high": found.power.high}
        yield finding("power", {**numbers, "advised": found.advised}, fit.name)


def _single_runs(fit: ResponseFit, level: float) -> Iterator[Finding]:
    for each in fit.fitted:
        if each.outlier_p < level:
            numbers = {"run": each.run, "studentised": each.deleted, "p_value": each.outlier_p}
            yield finding("fit_outlier", numbers, fit.name)
    ruling = [each for each in fit.fitted if each.cook > INFLUENTIAL]
    if ruling:
        worst = max(ruling, key=lambda each: each.cook)
        yield finding(
            "influential", {"runs": tuple(each.run for each in ruling), "run": worst.run, "cook": worst.cook}, fit.name
        )


def _best(fit: ResponseFit, model: ResponseModel) -> Iterator[Finding]:
    top = fit.best
    if top is None:
        return
    # Where the best place may as well be at the other end, nothing says that it is better beyond this one.
    open_ends = {
        each.name
        for each, place in zip(model.factors, top.place, strict=True)
        if not each.categorical and min(-each.coded(place.low), each.coded(place.high)) > 1 - 1e-6
    }
    if held := tuple(name for name in top.border if name not in open_ends):
        yield finding("at_border", {"factors": held, "goal": fit.goal.kind}, fit.name)
    found = fit.stationary
    if found is not None and fit.goal.kind != "target":
        wanted = {"max": "maximum", "min": "minimum"}[fit.goal.kind]
        if found.place is not None and (not found.inside or found.kind != wanted):
            numbers = {
                "kind": found.kind,
                "inside": found.inside,
                "wanted": wanted,
                "levels": found.place.levels,
                "factors": tuple(factor.name for factor in model.factors),
                "place": at(found.place, model.factors),
                "distance": distance(found.place, model.factors),
            }
            yield finding("stationary", numbers, fit.name)
    if found is not None and (flat := _flat(found)):
        ranges = [factor.name for factor in model.factors if not factor.categorical]
        directions = tuple(
            ", ".join(f"{name} {part:+.2f}" for name, part in zip(ranges, found.directions[index], strict=True))
            for index, _ in flat
        )
        yield finding("near_ridge", {"directions": directions, "shares": tuple(share for _, share in flat)}, fit.name)
    most = float(model.surface.fit.leverage.max())
    if top.leverage > most:
        yield finding("extrapolated", {"leverage": top.leverage, "largest": most}, fit.name)


def _flat(level: Stationary) -> list[tuple[int, float]]:
    """Return the directions in which a surface hardly bends, with their share of the strongest bend."""
    most = max((abs(value) for value in level.eigenvalues), default=0.0)
    if most == 0 or level.kind == "plane":
        return []
    shares = [(index, abs(value) / most) for index, value in enumerate(level.eigenvalues)]
    return [(index, share) for index, share in shares if share < FLAT]
