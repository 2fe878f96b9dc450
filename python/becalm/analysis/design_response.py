"""The analysis of one response of a filled design: the model that fits, with tests, diagnostics and optima.

`becalm.surfaces.anova.chosen` selects the model; remarks are findings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace
from scipy.special import stdtr, stdtrit

from becalm.analysis.design_effects import effect_table
from becalm.analysis.design_findings import response_findings
from becalm.analysis.design_places import (
    ResponseModel,
    best_place,
    canonical_path,
    factor_curves,
    ridges,
    stationary,
    steepest_direction,
)
from becalm.designs.sheet import Sheet
from becalm.errors import UsageError
from becalm.nouns.finding import Finding, Interval
from becalm.nouns.goal import Goal
from becalm.nouns.options.design import FitOptions
from becalm.results.design_fit import AnovaRow, Coefficient, FittedRun, ModelRow, PowerCurve, ResponseFit
from becalm.surfaces.anova import ModelSummary, Test, choose_model, compare_models, summary, table, terms_of
from becalm.surfaces.box_cox import BoxCox, box_cox, transformed
from becalm.surfaces.diagnostics import diagnose
from becalm.surfaces.optimum import MANY, combinations, separable
from becalm.surfaces.surface import Data, Surface, fitted
from becalm.surfaces.terms import ORDERS, Frame

LEAST = 3
"""The fewest runs for a fit."""


def response_fit(
    sheet: Sheet, name: str, goal: Goal, options: FitOptions
) -> tuple[ResponseFit, tuple[Finding, ...], ResponseModel]:
    """Return the fit of one response, its findings and its surface. Raises UsageError for data without an answer."""
    level = 1 - options.confidence
    data, places = _data(sheet, name)
    power = options.transform
    if power is not None and power != 1 and (data.y <= 0).any() and power != "auto":
        raise UsageError(
            f"{name} is {data.y.min():g} in one run, and a power or logarithm needs values above 0. Fit it as it is "
            "(leave --transform out), or add a constant to all its values first where its zero is arbitrary."
        )
    curve: BoxCox | None = None
    models = compare_models(data)
    best = _model(models, data, name, options, level)
    if (data.y > 0).all() and best.tested and best.surface.fit.mse > 0:
        curve = box_cox(data.matrix(best.surface.terms), data.y, level)
    transform = (curve.advised if curve is not None else None) if power == "auto" else power
    transform = None if transform in (None, 1) else float(transform)
    if transform is not None:
        models = compare_models(Data(data.frame, data.points, data.blocks, transformed(data.y, transform)))
        best = _model(models, models[0].surface.data, name, options, level)
    low, high = float(data.y.min()), float(data.y.max())
    model = ResponseModel(best.surface, sheet.factors, transform, goal.within(low, high))
    rng = np.random.default_rng(options.seed)
    # A constant has no best place.
    optimum = best_place(model, rng, level) if best.surface.terms else None
    point = None if optimum is None else optimum.at
    fit = ResponseFit(
        name=name,
        goal=goal.within(low, high),
        power=transform,
        runs=len(data.y),
        missing=sheet.missing(name),
        mean=float(data.y.mean()),
        model=best.model,
        requested=options.model is not None,
        models=tuple(_row(model, sheet) for model in models),
        coefficients=tuple(_coefficients(best.surface, sheet, options.confidence)),
        constant=float(best.surface.polynomial.coefficients[0]),
        anova=tuple(_tests(best, sheet)),
        sd=math.sqrt(best.surface.fit.mse) if best.tested else math.nan,
        r_squared=best.r_squared,
        adjusted=best.adjusted,
        predicted=best.predicted,
        press=best.press,
        precision=best.precision,
        detectable=_detectable(models, level),
        box_cox=None if curve is None else _curve(curve),
        effects=effect_table(sheet.factors, models[0], level),
        stationary=None if optimum is None else stationary(model, point),
        steepest=() if optimum is None else steepest_direction(model, point),
        ridge=() if optimum is None else ridges(model, point),
        path=() if optimum is None else canonical_path(model, point),
        best=optimum,
        fitted=tuple(_runs(best.surface, data, model, sheet, places)),
        curves=() if optimum is None else factor_curves(model, point, level),
    )
    return fit, tuple(response_findings(fit, model, options)), model


def _data(sheet: Sheet, name: str) -> tuple[Data, list[int]]:
    """Return the runs that have a value, with their indices. Raises UsageError where there is nothing to fit."""
    places = [index for index, value in enumerate(sheet.responses[name]) if not math.isnan(value)]
    y = np.array([sheet.responses[name][index] for index in places])
    if len(y) < LEAST:
        raise UsageError(
            f"{name} is filled in for {len(y)} of {len(sheet.coded)} runs. Make the others, and write what they gave."
        )
    if np.ptp(y) == 0:
        raise UsageError(
            f"{name} is {y[0]:g} in all {len(y)} runs: nothing that was varied changes it, or it was measured too "
            "coarsely."
        )
    frame = Frame(tuple(len(factor.choices) for factor in sheet.factors))
    points = np.array([sheet.coded[index] for index in places])
    return Data(frame, points, np.array([sheet.blocks[index] for index in places]), y), places


def _model(models: Sequence[ModelSummary], data: Data, name: str, options: FitOptions, level: float) -> ModelSummary:
    """Return the requested model, or the simplest that fits. Raises UsageError for a model that cannot be estimated.

    With very many combinations of choices only models are considered in which choices do not interact with anything.
    """
    if options.model is None:
        separable_models = [model for model in models if separable(model.surface.polynomial, data.frame)]
        return choose_model(models if combinations(data.frame) <= MANY else separable_models, level)
    surface = fitted(models[0].surface.data, data.frame.terms(options.model))
    result = summary(options.model, surface, models[0].surface)
    coefficient_count = 1 + surface.block_count + len(surface.terms)
    if result.aliased:
        estimable = [model.model for model in models if not model.aliased and model.tested and model.model != "mean"]
        raise UsageError(
            f"The {options.model} model of {name} cannot be estimated from these {len(data.y)} runs: it has "
            f"{coefficient_count} coefficients, {len(surface.fit.aliased)} of them aliased with others. "
            + (f"They allow: {', '.join(estimable)}. " if estimable else "")
            + "A larger one needs a design for it: becalm design central --help"
        )
    return result


def _row(model: ModelSummary, sheet: Sheet) -> ModelRow:
    fit = model.surface.fit
    return ModelRow(
        model=model.model,
        terms=len(fit.columns),
        freedom=fit.freedom,
        sd=math.sqrt(fit.mse) if fit.freedom else math.nan,
        added_f=model.added.f,
        added_p=model.added.p_value,
        lack_f=model.fit.lack.f,
        lack_p=model.fit.lack.p_value,
        r_squared=model.r_squared,
        adjusted=model.adjusted,
        predicted=model.predicted,
        press=model.press,
        precision=model.precision,
        aliased=tuple(_aliases(model.surface, sheet)),
    )


def _names(surface: Surface, sheet: Sheet) -> list[str]:
    """Return the names of all columns of a model."""
    names = [factor.name for factor in sheet.factors]
    choices = [factor.choices for factor in sheet.factors]
    frame = surface.data.frame
    blocks = [f"block {block}" for block in np.unique(surface.data.blocks)[1:]]
    return ["constant", *blocks, *(frame.name(term, names, choices) for term in surface.terms)]


def _aliases(surface: Surface, sheet: Sheet) -> Iterator[str]:
    """Yield each term that cannot be estimated, with the terms of which it is a combination."""
    names = _names(surface, sheet)
    for alias in surface.fit.aliased:
        combination = "a combination of others"
        if 0 < len(alias.of) <= 3:
            combination = "".join(f"{_signed_factor(factor)}{names[other]}" for other, factor in alias.of).removeprefix(
                " + "
            )
        yield f"{names[alias.column]} = {combination}"


def _signed_factor(factor: float) -> str:
    return f" {'-' if factor < 0 else '+'} " + ("" if abs(abs(factor) - 1) < 1e-6 else f"{abs(factor):.4g} ")


def _coefficients(surface: Surface, sheet: Sheet, confidence: float) -> Iterator[Coefficient]:
    names, fit = _names(surface, sheet), surface.fit
    first = 1 + surface.block_count
    t_quantile = float(stdtrit(fit.freedom, (1 + confidence) / 2)) if fit.freedom else math.nan
    for column, estimate, error in zip(fit.columns, fit.coefficients, fit.errors, strict=True):
        t = float(estimate / error) if error > 0 else math.nan
        p_value = 2 * float(stdtr(fit.freedom, -abs(t))) if fit.freedom and not math.isnan(t) else math.nan
        yield Coefficient(
            names[column],
            float(estimate),
            float(error),
            t,
            p_value,
            float(estimate - t_quantile * error),
            float(estimate + t_quantile * error),
            surface.terms[column - first].exponents if column >= first else (),
        )


def _tests(best: ModelSummary, sheet: Sheet) -> Iterator[AnovaRow]:
    """Yield the analysis of variance: the terms of each order together, then one by one."""
    names = [factor.name for factor in sheet.factors]
    for test in table(best.surface):
        yield _anova_row(test)
        for key, term in (terms_of(best.surface, test.source) if test.source in ORDERS else {}).items():
            name = ":".join(names[factor] + (f"^{power}" if power > 1 else "") for factor, power in dict(key).items())
            yield replace(_anova_row(term), source=name, group=test.source)
    if best.fit.tested:
        yield _anova_row(best.fit.lack)
        yield _anova_row(best.fit.pure)
    total = best.surface.data.y
    yield _anova_row(Test("total", len(total) - 1, float(((total - total.mean()) ** 2).sum())))


def _anova_row(test: Test) -> AnovaRow:
    return AnovaRow(test.source, test.freedom, test.sum_of_squares, test.mean_square, test.f, test.p_value)


def _detectable(models: Sequence[ModelSummary], level: float) -> float:
    """Return the detectable effect of the factor known least, with a probability of 80 %; NaN without a linear
    model."""
    linear = [model for model in models if model.model == "linear" and model.tested and not model.aliased]
    if not linear:
        return math.nan
    fit = linear[0].surface.fit
    quantile_sum = float(stdtrit(fit.freedom, 1 - level / 2) + stdtrit(fit.freedom, 0.8))
    return 2 * quantile_sum * float(fit.errors[1 + linear[0].surface.block_count :].max())


def _curve(cox: BoxCox) -> PowerCurve:
    return PowerCurve(
        Interval(cox.power, cox.low, cox.high),
        cox.advised,
        tuple(map(float, cox.powers)),
        tuple(map(float, cox.likelihoods)),
        cox.limit,
    )


def _runs(
    surface: Surface, data: Data, model: ResponseModel, sheet: Sheet, places: Sequence[int]
) -> Iterator[FittedRun]:
    fit, diagnosis = surface.fit, diagnose(surface.fit)
    predicted = model.back(fit.fitted)
    for row, index in enumerate(places):
        yield FittedRun(
            run=sheet.order[index],
            block=sheet.blocks[index],
            coded=sheet.coded[index],
            observed=float(data.y[row]),
            fitted=float(predicted[row]),
            residual=float(fit.residuals[row]),
            leverage=float(fit.leverage[row]),
            studentised=float(diagnosis.studentised[row]),
            deleted=float(diagnosis.deleted[row]),
            cook=float(diagnosis.cook[row]),
            score=float(diagnosis.scores[row]),
            outlier_p=float(diagnosis.outliers[row]),
        )
