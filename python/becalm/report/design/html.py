"""A filled design as one HTML page that needs nothing else: no network, no scripts, pictures and style within."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from becalm.nouns.design_fit import DesignFit, ResponseFit
from becalm.report.design import residual_figures, surface_figures, tables
from becalm.report.page import Part, Picture, filled


@dataclass(frozen=True, slots=True)
class Section:
    """The section of one response."""

    title: str
    mood: str
    sentence: str
    parts: tuple[Part, ...]


GRAVE = {"lack_of_fit", "no_effect", "saturated", "imprecise", "extrapolated"}
"""Findings with which an answer is no answer yet."""


def page(found: DesignFit) -> str:
    """Return the page."""
    compromise = tables.compromise(found) if found.compromise is not None else None
    return filled(
        "design/page.html",
        title=f"becalm design fit: {' and '.join(each.name for each in found.responses)}",
        compromise=compromise,
        lines=found.sentence.splitlines()[len(found.responses) :],
        sections=tuple(section(found, each) for each in found.responses),
        findings=(),
        known=found.findings,
        facts=tables.facts(found),
    )


def section(found: DesignFit, each: ResponseFit) -> Section:
    """Return the section of one response."""
    doubted = any(one.program == each.name and one.kind in GRAVE for one in found.findings)
    return Section(each.name, "bad" if doubted else "good", each.sentence, tuple(_parts(found, each)))


def _parts(found: DesignFit, each: ResponseFit) -> Iterator[Part]:
    best = tables.best(found, each)
    if best.rows:
        along = (
            f"{each.name} along each factor through the best place (the star), with the {level_of(found)} interval of "
            "the mean; all pictures have one scale, so a flat line is a factor that matters little there."
            f"{_of_all(found, each)}",
            "".join(surface_figures.curves(found, each)),
        )
        yield Part(best.title, _drawn(along), best)
    cube = (
        f"Response cube: {each.name} at the corners of the ranges, as the model has it, the best corner in colour; "
        "factors that are not drawn are set as at the best place.",
        surface_figures.cube(found, each),
    )
    pairs = surface_figures.contours(found, each)
    lines = (
        f"Lines of equal {each.name}, the stronger the colour the higher. Points: runs, wherever the other factors "
        "were; the star: the best place; factors that are not drawn are set as there. Last: the first of these as a "
        f"surface, {each.name} upwards.",
        "".join((*pairs, surface_figures.solid(found, each))),
    )
    if pictures := _drawn(cube, lines):
        yield Part("The surface", pictures)
    yield Part("Models", (), tables.models(each))
    aliased = tables.aliased(each)
    if aliased.rows:
        yield Part(aliased.title, (), aliased, folded=True)
    yield Part("Analysis of variance", (), tables.anova(each))
    yield Part("Coefficients", (), tables.coefficients(each))
    if each.effects is not None:
        caption = (
            "Half-normal plot: effects by size over what noise alone would show. Noise lies on a line through the "
            "origin, named effects are above the margin (dashed): that of the pure error, or Lenth's where no runs are "
            "repeated."
        )
        yield Part("Effects", _drawn((caption, residual_figures.half_normal(each))), tables.effects(each))
    if pictures := _drawn(*_diagnosis(found, each)):
        yield Part("Diagnosis", pictures, tables.runs(found, each), folded=True)
    canonical = tables.canonical(found, each)
    if canonical.rows:
        yield Part(canonical.title, (), canonical)
    for title, some in (("Best at each distance from the centre", each.ridge), ("Along the canonical path", each.path)):
        table = tables.places(found, each, title, some)
        if table.rows:
            yield Part(title, (), table, folded=True)


def _diagnosis(found: DesignFit, each: ResponseFit) -> Iterator[tuple[str, str]]:
    """Yield the captions and pictures of what the residuals say of the model."""
    yield (
        "First: normal plot, residuals over normal scores; near the line when they are normal. Second: residuals over "
        "what the model says; an even band when the noise is the same everywhere. A studentised residual is in units "
        "of its own standard error; beyond 3 it is in red.",
        residual_figures.normal(each) + residual_figures.over_fitted(each),
    )
    yield (
        "First: residuals in the order of the runs; a trend is a drift of the machine (dashed: where a block ends). "
        f"Second: {each.name} as measured over what the model says; on the line they agree.",
        residual_figures.in_order(each) + residual_figures.measured_over_fitted(each),
    )
    yield (
        "First: leverage, how much each run pulls the surface to itself; the line is the mean, runs above twice that "
        "(dashed) stand alone. Second: Cook's distance; above 1 one run rules the fit.",
        residual_figures.leverage(each) + residual_figures.cook(each),
    )
    yield (
        f"Residuals over each factor; a bend is a term that the model lacks.{_of_all(found, each)}",
        "".join(residual_figures.over_factors(found, each)),
    )
    yield (
        "Box-Cox plot: log likelihood of powers λ of the response. Above the dashed line is the interval of λ "
        f"({level_of(found)}), shaded; where it holds 1, the response is fitted as it was measured.",
        residual_figures.power(each),
    )


def _of_all(found: DesignFit, each: ResponseFit) -> str:
    """Return the sentence about which factors are drawn, where not all are; else empty."""
    drawn, count = len(surface_figures.movers(found, each)), len(found.factors)
    return f" Drawn are the {drawn} of {count} factors that move {each.name} most." if drawn < count else ""


def level_of(found: DesignFit) -> str:
    """Return the confidence of intervals."""
    return f"{100 * found.confidence:g} %"


def _drawn(*pictures: tuple[str, str]) -> tuple[Picture, ...]:
    return tuple(Picture(svg, caption) for caption, svg in pictures if svg)
