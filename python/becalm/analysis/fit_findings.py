"""What a person should know of a fitted response: lack of fit, aliases, powers, outliers, borders, doubts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from becalm.analysis.surface_places import Model
from becalm.nouns.design_fit import ResponseFit, Stationary
from becalm.nouns.options.design import FitOptions
from becalm.nouns.verdict import Finding
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


def noticed(made: ResponseFit, model: Model, options: FitOptions) -> Iterator[Finding]:
    """The findings of one response, the gravest first."""
    level = 1 - options.confidence
    name = made.name
    rows = {each.model: each for each in made.models}
    chosen = rows.get(made.model)
    lack = next((each for each in made.anova if each.source == "lack of fit"), None)
    if lack is not None and lack.p_value < level:
        after = ORDERS[ORDERS.index(made.model) + 1 :] if made.model in ORDERS else ORDERS
        able = [each for each in after if each in rows and not rows[each].aliased and rows[each].freedom > 0]
        larger = [each for each in able if not rows[each].lack_p < level]
        offered = made.power is None and made.box_cox is not None and made.box_cox.advised != 1
        yield finding(
            "lack_of_fit",
            {
                "model": made.model,
                "p_value": lack.p_value,
                "larger": tuple(larger),
                "power": made.box_cox.advised if offered and made.box_cox is not None else None,
                "curvature": made.model in FLAT_MODELS and "quadratic" not in able,
            },
            name,
        )
    bend = None if made.effects is None else made.effects.curvature
    if made.effects is not None and bend is not None and bend.p_value < level and made.model in FLAT_MODELS:
        numbers = {"value": bend.value.value, "low": bend.value.low, "high": bend.value.high}
        yield finding(
            "curvature", {**numbers, "t": bend.t, "p_value": bend.p_value, "freedom": made.effects.freedom}, name
        )
    yield from _doubts(made, lacking=lack is not None and lack.p_value < level)
    if made.effects is not None and (chosen is None or made.model == "mean"):
        saturated = [each for each in made.models if each.model != "mean" and each.freedom <= 0]
        if saturated:
            real = tuple(each.term for each in made.effects.effects if each.real)
            yield finding("saturated", {"model": saturated[0].model, "real": real}, name)
    aliased = next((each for each in made.models if each.aliased), None)
    partial = None if made.effects is None else made.effects.partial
    if partial:
        yield finding("partly_aliased", {"share": partial}, name)
    elif aliased is not None and (aliased.model != "cubic" or (lack is not None and lack.p_value < level)):
        yield finding("aliased_terms", {"model": aliased.model, "terms": aliased.aliased}, name)
    yield from _power(made)
    yield from _single_runs(made, level)
    yield from _best(made, model)
    if made.missing:
        yield finding("missing_runs", {"missing": made.missing, "runs": made.runs}, name)


def _doubts(made: ResponseFit, *, lacking: bool) -> Iterator[Finding]:
    if made.model == "mean":
        if not (math.isnan(made.detectable) or made.power is not None or lacking or made.certain):
            yield finding("no_effect", {"detectable": made.detectable, "mean": made.mean, "runs": made.runs}, made.name)
        return
    if not math.isnan(made.precision) and made.precision < PRECISE:
        yield finding("imprecise", {"precision": made.precision, "needed": PRECISE}, made.name)
    if made.adjusted - made.predicted > APART:
        yield finding("overfitted", {"adjusted": made.adjusted, "predicted": made.predicted}, made.name)
    if made.sd > 0 and all(math.isnan(each.lack_p) for each in made.models if each.model == made.model):
        yield finding("untested_fit", {"model": made.model}, made.name)


def _power(made: ResponseFit) -> Iterator[Finding]:
    low = min(each.observed for each in made.fitted)
    if low <= 0:
        yield finding("no_power", {"smallest": low}, made.name)
    elif made.box_cox is not None and made.power is None and made.box_cox.advised != 1:
        found = made.box_cox
        numbers = {"power": found.power.value, "low": found.power.low, "high": found.power.high}
        yield finding("power", {**numbers, "advised": found.advised}, made.name)


def _single_runs(made: ResponseFit, level: float) -> Iterator[Finding]:
    for each in made.fitted:
        if each.outlier_p < level:
            numbers = {"run": each.run, "studentised": each.deleted, "p_value": each.outlier_p}
            yield finding("fit_outlier", numbers, made.name)
    ruling = [each for each in made.fitted if each.cook > INFLUENTIAL]
    if ruling:
        worst = max(ruling, key=lambda each: each.cook)
        yield finding(
            "influential", {"runs": tuple(each.run for each in ruling), "run": worst.run, "cook": worst.cook}, made.name
        )


def _best(made: ResponseFit, model: Model) -> Iterator[Finding]:
    top = made.best
    if top is None:
        return
    # Where the best place may as well be at the other end, nothing says that it is better beyond this one.
    open_ends = {
        each.name
        for each, place in zip(model.factors, top.place, strict=True)
        if not each.categorical and min(-each.coded(place.low), each.coded(place.high)) > 1 - 1e-6
    }
    if held := tuple(name for name in top.border if name not in open_ends):
        yield finding("at_border", {"factors": held, "goal": made.goal.kind}, made.name)
    found = made.stationary
    if found is not None and made.goal.kind != "target":
        wanted = {"max": "maximum", "min": "minimum"}[made.goal.kind]
        if found.place is not None and (not found.inside or found.kind != wanted):
            numbers = {
                "kind": found.kind,
                "inside": found.inside,
                "wanted": wanted,
                "levels": found.place.levels,
                "factors": tuple(each.name for each in model.factors),
                "place": at(found.place, model.factors),
                "distance": distance(found.place, model.factors),
            }
            yield finding("stationary", numbers, made.name)
    if found is not None and (flat := _flat(found)):
        ranges = [each.name for each in model.factors if not each.categorical]
        directions = tuple(
            ", ".join(f"{name} {part:+.2f}" for name, part in zip(ranges, found.directions[index], strict=True))
            for index, _ in flat
        )
        yield finding("near_ridge", {"directions": directions, "shares": tuple(share for _, share in flat)}, made.name)
    most = float(model.surface.fit.leverage.max())
    if top.leverage > most:
        yield finding("extrapolated", {"leverage": top.leverage, "largest": most}, made.name)


def _flat(level: Stationary) -> list[tuple[int, float]]:
    """Return the directions in which a surface hardly bends, with their share of the strongest bend."""
    most = max((abs(value) for value in level.eigenvalues), default=0.0)
    if most == 0 or level.kind == "plane":
        return []
    shares = [(index, abs(value) / most) for index, value in enumerate(level.eigenvalues)]
    return [(index, share) for index, share in shares if share < FLAT]
