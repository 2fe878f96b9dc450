"""The analysis of a filled design: each response by itself, then the best compromise of all."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from becalm.analysis.design_places import ResponseModel, best_compromise
from becalm.analysis.design_response import response_fit
from becalm.designs.sheet import Sheet
from becalm.errors import UsageError
from becalm.nouns.finding import Finding
from becalm.nouns.goal import Goal
from becalm.nouns.options.design import FitOptions
from becalm.results.design_fit import DesignFit, ResponseFit
from becalm.wording import design as sentences


def fit(sheet: Sheet, file: str, options: FitOptions) -> DesignFit:
    """Return the analysis of a filled sheet. Raises UsageError for goals without a column, and for data without an
    answer."""
    goals = dict(options.goals or {})
    if unknown := [name for name in goals if name not in sheet.responses]:
        raise UsageError(
            f"--goal {unknown[0]}: there is no response {unknown[0]!r}. There are: {', '.join(sheet.responses)}."
        )
    fits: list[ResponseFit] = []
    findings: list[Finding] = []
    models: list[ResponseModel] = []
    for name in sheet.responses:
        response, response_findings, model = response_fit(sheet, name, goals.get(name, Goal()), options)
        fits.append(replace(response, sentence=sentences.response(response, sheet.factors, 1 - options.confidence)))
        findings += response_findings
        models.append(model)
    rng = np.random.default_rng(options.seed)
    best = best_compromise(models, rng, 1 - options.confidence) if _several(models) else None
    result = DesignFit(
        file=file,
        factors=sheet.factors,
        runs=len(sheet.coded),
        blocks=len(set(sheet.blocks)),
        confidence=options.confidence,
        seed=options.seed,
        responses=tuple(fits),
        compromise=best,
        findings=tuple(findings),
    )
    return replace(result, sentence=sentences.whole(result))


def _several(models: list[ResponseModel]) -> bool:
    """Return whether there are responses to weigh against each other: two or more that depend on the factors."""
    return len(models) > 1 and all(model.surface.terms for model in models)
