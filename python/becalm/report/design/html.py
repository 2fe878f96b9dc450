"""A completed design as a self-contained HTML page, without scripts."""

from __future__ import annotations

from collections.abc import Iterator

from becalm.report.design import residual_figures, surface_figures, tables
from becalm.report.page import Part, Picture, Section, filled
from becalm.results.design_fit import DesignFit, ResponseFit

GRAVE = {"lack_of_fit", "no_effect", "saturated", "imprecise", "extrapolated"}
"""The findings that make an answer unreliable."""


def page(fit: DesignFit) -> str:
    """Return the page."""
    compromise = tables.compromise(fit) if fit.compromise is not None else None
    return filled(
        "design/page.html",
        title=f"becalm design fit: {' and '.join(response.name for response in fit.responses)}",
        compromise=compromise,
        lines=fit.sentence.splitlines()[len(fit.responses) :],
        sections=tuple(section(fit, response) for response in fit.responses),
        findings=(),
        known=fit.findings,
        facts=tables.facts(fit),
    )


def section(design_fit: DesignFit, fit: ResponseFit) -> Section:
    """Return the section of one response."""
    doubted = any(finding.program == fit.name and finding.kind in GRAVE for finding in design_fit.findings)
    return Section(fit.name, "bad" if doubted else "good", fit.sentence, tuple(_parts(design_fit, fit)))


def _parts(design_fit: DesignFit, fit: ResponseFit) -> Iterator[Part]:
    best = tables.best(design_fit, fit)
    if best.rows:
        along = (
            f"{fit.name} along each factor through the best place (the star), with the "
            f"{level_of(design_fit)} interval of "
            "the mean; all pictures have one scale, so a flat line is a factor that matters little there."
            f"{_of_all(design_fit, fit)}",
            "".join(surface_figures.curves(design_fit, fit)),
        )
        yield Part(best.title, _drawn(along), best)
    cube = (
        f"Response cube: {fit.name} at the corners of the ranges, as the model predicts it, the best corner in colour; "
        "factors that are not drawn are set as at the best place.",
        surface_figures.cube(design_fit, fit),
    )
    pairs = surface_figures.contours(design_fit, fit)
    lines = (
        f"Lines of equal {fit.name}; a stronger colour is a higher value. Points: runs, wherever the other factors "
        "were; the star: the best place; factors that are not drawn are set as there. Last: the first of these as a "
        f"surface, {fit.name} upwards.",
        "".join((*pairs, surface_figures.solid(design_fit, fit))),
    )
    if pictures := _drawn(cube, lines):
        yield Part("The surface", pictures)
    yield Part("Models", (), tables.models(fit))
    aliased = tables.aliased(fit)
    if aliased.rows:
        yield Part(aliased.title, (), aliased, folded=True)
    yield Part("Analysis of variance", (), tables.anova(fit))
    yield Part("Coefficients", (), tables.coefficients(fit))
    if fit.effects is not None:
        caption = (
            "Half-normal plot: effects by size over what noise alone would show. Noise lies on a line through the "
            "origin, named effects are above the margin (dashed): that of the pure error, or Lenth's where no runs are "
            "repeated."
        )
        yield Part("Effects", _drawn((caption, residual_figures.half_normal(fit))), tables.effects(fit))
    if pictures := _drawn(*_diagnosis(design_fit, fit)):
        yield Part("Diagnosis", pictures, tables.runs(design_fit, fit), folded=True)
    canonical = tables.canonical(design_fit, fit)
    if canonical.rows:
        yield Part(canonical.title, (), canonical)
    for title, some in (("Best at each distance from the centre", fit.ridge), ("Along the canonical path", fit.path)):
        table = tables.places(design_fit, fit, title, some)
        if table.rows:
            yield Part(title, (), table, folded=True)


def _diagnosis(design_fit: DesignFit, fit: ResponseFit) -> Iterator[tuple[str, str]]:
    """Yield the captions and plots of the residuals."""
    yield (
        "First: normal plot, residuals over normal scores; near the line when they are normal. Second: residuals over "
        "what the model says; an even band when the noise is the same everywhere. A studentised residual is in units "
        "of its own standard error; beyond 3 it is in red.",
        residual_figures.normal(fit) + residual_figures.over_fitted(fit),
    )
    yield (
        "First: residuals in the order of the runs; a trend is a drift of the machine (dashed: where a block ends). "
        f"Second: {fit.name} as measured over what the model says; on the line they agree.",
        residual_figures.in_order(fit) + residual_figures.measured_over_fitted(fit),
    )
    yield (
        "First: leverage, how much each run pulls the surface to itself; the line is the mean, runs above twice that "
        "(dashed) have high leverage. Second: Cook's distance; above 1 one run dominates the fit.",
        residual_figures.leverage(fit) + residual_figures.cook(fit),
    )
    yield (
        f"Residuals over each factor; a bend is a term that the model lacks.{_of_all(design_fit, fit)}",
        "".join(residual_figures.over_factors(design_fit, fit)),
    )
    yield (
        "Box-Cox plot: log likelihood of powers λ of the response. Above the dashed line is the interval of λ "
        f"({level_of(design_fit)}), shaded; where it holds 1, the response is fitted as it was measured.",
        residual_figures.power(fit),
    )


def _of_all(design_fit: DesignFit, fit: ResponseFit) -> str:
    """Return the sentence about the factors that are drawn, where not all are; empty otherwise."""
    count, total = len(surface_figures.movers(design_fit, fit)), len(design_fit.factors)
    return f" The figures show the {count} of {total} factors that move {fit.name} most." if count < total else ""


def level_of(fit: DesignFit) -> str:
    """Return the confidence level of intervals, as a percentage."""
    return f"{100 * fit.confidence:g} %"


def _drawn(*pictures: tuple[str, str]) -> tuple[Picture, ...]:
    return tuple(Picture(svg, caption) for caption, svg in pictures if svg)
