"""The trials of a search as a designed experiment, without drift, fitted as `becalm design fit` fits a worksheet.

The response is `time`, in seconds, or the metric, as its reciprocal if larger values are better. Failed trials have no
value: they are censored, and count as missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from becalm.analysis.design_fit import fit
from becalm.designs.sheet import Sheet
from becalm.errors import UsageError
from becalm.methods.protocol import NO_SETTINGS, Ask, Sample
from becalm.methods.surface_model import LEVEL, MeasuredPlace, Model
from becalm.nouns.factor import Factor
from becalm.nouns.finding import Finding
from becalm.nouns.metric import Metric
from becalm.nouns.options.design import FitOptions
from becalm.nouns.search_space import Space
from becalm.results.design_fit import DesignFit
from becalm.stats.one_thread import one_thread
from becalm.wording.findings import finding

RESPONSE = "time"

UNIT_NS = 1e9

MOST_FACTORS, MOST_CHOICES = 12, 64
"""The numbers of factors, and of combinations of their choices, above which a fit needs runs for all main effects."""

SPARE = 4
"""The number of runs for the error that such a fit needs, beyond those for the main effects."""

Tried = Sequence[tuple[int, Ask, Sample]]
"""The trials in the order of their requests: the number of the request, the request, and the sample of an arm."""


@one_thread()
def search_fit(
    space: Space, tried: Tried, objective: str, confidence: float, seed: int, metric: Metric | None = None
) -> tuple[DesignFit | None, list[Finding]]:
    """Return the fit of the trials that varied the same factors as the last one, and findings.

    The fit is None if there is nothing to fit. The findings report drift and failed trials.
    """
    alike = _comparable_trials(tried)
    values = [dict(sample.settings.values) for *_, sample in alike if sample.settings != NO_SETTINGS]
    factors = tuple(factor for factor in space.factors if len({some.get(factor.name) for some in values}) > 1)
    places, order = [], []
    for number, index, ask, sample in alike:
        value = sample.value(objective) / (UNIT_NS if metric is None else 1.0)
        block = index if ask.block is None else ask.block
        if sample.settings != NO_SETTINGS:
            order.append(number)
            places.append(MeasuredPlace(_place(factors, sample), block, value))
        elif math.isfinite(value):
            places.append(MeasuredPlace(None, block, value))
    good = [place for place in places if math.isfinite(place.value)]
    noticed = []
    if failed := sum(place.coded is not None and not math.isfinite(place.value) for place in places):
        slow = sum(sample.slow for *_, sample in alike)
        trials = sum(place.coded is not None for place in places)
        noticed.append(finding("censored", {"failed": failed, "trials": trials, "slow": slow}))
    if not factors or sum(place.coded is not None for place in good) < 3:
        return None, noticed
    terms = sum(max(1, len(factor.choices) - 1) for factor in factors)
    many = len(factors) > MOST_FACTORS or math.prod(len(factor.choices) or 1 for factor in factors) > MOST_CHOICES
    varied_runs = sum(place.coded is not None for place in good)
    if many and varied_runs < terms + SPARE:
        why = f"{len(factors)} settings were varied in {varied_runs} runs, too few for a polynomial in all of them."
        return None, [*noticed, finding("no_fit", {"why": why})]
    model = Model(factors, good)
    known = iter(model.values)
    varied = [place for place in places if place.coded is not None]
    responses = tuple(float(next(known)) if math.isfinite(place.value) else math.nan for place in varied)
    coded = tuple(place.coded for place in varied if place.coded is not None)
    sheet = Sheet(factors, coded, (1,) * len(coded), tuple(order), {_response(metric): responses})
    if model.drift_p < LEVEL:
        noticed.insert(0, finding("search_drift", {"p_value": model.drift_p, "spread": model.drift_spread}))
    try:
        design_fit = fit(sheet, "", FitOptions(transform="auto", confidence=confidence, seed=seed))
    except UsageError as error:
        return None, [*noticed, finding("no_fit", {"why": str(error)})]
    # After a search, findings recommend other next steps than for a worksheet.
    findings = tuple(
        finding(noticed_in_fit.kind, {**noticed_in_fit.numbers, "search": True}, noticed_in_fit.program)
        for noticed_in_fit in design_fit.findings
    )
    return replace(design_fit, findings=findings), noticed


def _response(metric: Metric | None) -> str:
    if metric is None:
        return RESPONSE
    return f"1/{metric.name}" if metric.higher else metric.name


def _comparable_trials(tried: Tried) -> list[tuple[int, int, Ask, Sample]]:
    """Return the trials of the baseline, and those that set the same knobs as the last one, with their numbers."""
    sets = [{name for name, _ in sample.settings.values} for _, _, sample in tried]
    last = next((knobs for knobs in reversed(sets) if knobs), set())
    return [(number, *tried[number - 1]) for number, knobs in enumerate(sets, 1) if not knobs or knobs == last]


def _place(factors: Sequence[Factor], sample: Sample) -> tuple[float, ...]:
    levels = sample.settings.to_json()
    return tuple(float(np.round(factor.coded(levels[factor.name]), 12)) for factor in factors)
