"""A filled design as one HTML page that needs nothing else: no network, no scripts, pictures and style within."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from becalm.nouns.design_fit import DesignFit, ResponseFit
from becalm.report.design import residual_figures, surface_figures, tables
from becalm.report.page import Part, Picture, filled


@dataclass(frozen=True, slots=True)
class Section:
    """One response."""

    title: str
    mood: str
    sentence: str
    parts: tuple[Part, ...]


GRAVE = {"lack_of_fit", "no_effect", "saturated", "imprecise", "extrapolated"}
"""Findings with which an answer is no answer yet."""


def page(found: DesignFit) -> str:
    """The page. Raises UsageError where jinja2 or matplotlib is not installed."""
    compromise = tables.compromise(found) if found.compromise is not None else None
    return filled(
        "design/page.html",
        "--report FILE.md",
        title=f"becalm design fit: {' and '.join(each.name for each in found.responses)}",
        compromise=compromise,
        lines=found.sentence.splitlines()[len(found.responses) :],
        sections=tuple(_section(found, each) for each in found.responses),
        findings=(),
        known=found.findings,
        facts=tables.facts(found),
    )


def _section(found: DesignFit, each: ResponseFit) -> Section:
    doubted = any(one.program == each.name and one.kind in GRAVE for one in found.findings)
    return Section(each.name, "bad" if doubted else "good", each.sentence, tuple(_parts(found, each)))


def _parts(found: DesignFit, each: ResponseFit) -> Iterator[Part]:
    best = tables.best(found, each)
    if best.rows:
        yield Part(best.title, (), best)
    cube = (
        f"{each.name} at the corners, as fitted; factors that are not drawn are set as at the best place.",
        surface_figures.cube(found, each),
    )
    lines = (
        f"Lines of equal {each.name}. Points: runs, wherever the other factors were; the star: the "
        "best "
        "place; factors that are not drawn are set as there.",
        surface_figures.contours(found, each),
    )
    solid = (f"The same as a surface: {each.name} upwards.", surface_figures.solid(found, each))
    if pictures := _drawn(cube, lines, solid):
        yield Part("The surface", pictures)
    yield Part("Models", (), tables.models(each))
    yield Part("Analysis of variance", (), tables.anova(each))
    yield Part("Coefficients", (), tables.coefficients(each))
    if each.effects is not None:
        caption = (
            "Effects by size over what noise alone would show: noise lies on a line through the origin, named effects "
            "are above Lenth's margin (dashed)."
        )
        yield Part("Effects", _drawn((caption, residual_figures.half_normal(each))), tables.effects(each))
    normal = (
        "Left: residuals over normal scores, near the line when they are normal. Right: residuals over the fitted "
        "values, "
        "an even band when the noise is the same everywhere.",
        residual_figures.normal_and_fitted(each),
    )
    order = (
        "Left: residuals in the order of the runs; a trend is a drift of the machine. Right: Cook's distance, above "
        "1 where "
        "one run rules the fit.",
        residual_figures.order_and_cook(each),
    )
    factors = (
        "Residuals over each factor; a bend is a term that the model lacks.",
        residual_figures.over_factors(found, each),
    )
    power = (
        "Log likelihood of powers of the response (Box and Cox); above the dashed line is the interval of the power, "
        "and "
        "1 is the response as it is.",
        residual_figures.power(each),
    )
    if pictures := _drawn(normal, order, factors, power):
        yield Part("Diagnosis", pictures, tables.runs(found, each), folded=True)
    canonical = tables.canonical(found, each)
    if canonical.rows:
        yield Part(canonical.title, (), canonical)
    for title, some in (("Best at each distance from the centre", each.ridge), ("Along the canonical path", each.path)):
        table = tables.places(found, each, title, some)
        if table.rows:
            yield Part(title, (), table, folded=True)


def _drawn(*pictures: tuple[str, str]) -> tuple[Picture, ...]:
    return tuple(Picture(svg, caption) for caption, svg in pictures if svg)
