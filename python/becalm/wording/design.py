"""Sentences about a design, and about the results of a completed one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from becalm.nouns.finding import Interval
from becalm.units import join_names
from becalm.wording.numbers import counted

if TYPE_CHECKING:
    from becalm.nouns.factor import Factor
    from becalm.nouns.swarm import SwarmParameters
    from becalm.results.design import Design
    from becalm.results.design_fit import BestPlace, DesignFit, ResponseFit, SurfacePoint

FAMILIES = {
    "factorial": "Two-level",
    "plackett-burman": "Plackett-Burman",
    "central": "Central composite",
    "box-behnken": "Box-Behnken",
}
MODELS = {
    "mean": "constant",
    "linear": "linear",
    "2fi": "two-factor interaction",
    "quadratic": "quadratic",
    "cubic": "cubic",
}
ROMAN = {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII", 8: "VIII", 9: "IX", 10: "X"}
FAR = 3.0
"""The distance from the centre, in half ranges, beyond which a place is not named: nobody would set it."""

WANTED = {"min": "smallest", "max": "largest", "target": "nearest to the target"}


def number(value: float, digits: int = 4) -> str:
    """Return a number with this many significant digits; a dash for NaN."""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return "–" if math.isnan(value) else f"{value:.{digits}g}"


def p_value(value: float) -> str:
    """Return a p-value with four decimals, or "< 0.0001"."""
    return "–" if math.isnan(value) else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


LONGEST_WHOLE = 1e12
"""The size from which a number is written with a power of ten, whatever digits its interval needs."""


def interval(estimate: Interval) -> str:
    """Return an estimate with its interval, such as "12.3 (11.9 to 12.7)", with three digits within its width."""
    if not math.isfinite(estimate.high - estimate.low) or estimate.high <= estimate.low:
        return number(estimate.value)
    value, low, high = by_width((estimate.value, estimate.low, estimate.high), estimate.high - estimate.low)
    return f"{value} ({low} to {high})"


def between(low: float, high: float) -> str:
    """Return the ends of an interval, such as "11.9 to 12.7"; empty for NaN, "exact" for equal ends."""
    if math.isnan(low) and math.isnan(high):
        return ""
    if low == high:
        return "exact"
    if not math.isfinite(high - low):
        return f"{number(low, 6)} to {number(high, 6)}"
    return " to ".join(by_width((low, high), high - low))


def by_width(values: Sequence[float], width: float) -> list[str]:
    """Return numbers with the digits that tell places within a width apart: two beyond its first digit."""
    places = max(0, 2 - math.floor(math.log10(width)))
    largest = max(map(abs, values))
    digits = math.floor(math.log10(largest)) - math.floor(math.log10(width)) + 3
    few = digits <= 5 and (largest >= 1e7 or largest < 1e-4)
    if largest < LONGEST_WHOLE and places <= 8 and not few:
        return [f"{value:.{places}f}" for value in values]
    return [number(value, min(15, max(5, digits))) for value in values]


def at(place: SurfacePoint, factors: Sequence[Factor]) -> str:
    """Return a place as text, such as "time 86.86 min, temp 176.7 C"."""
    return ", ".join(
        f"{factor.name} {factor.worded(level, 5)}" for factor, level in zip(factors, place.levels, strict=True)
    )


def distance(place: SurfacePoint, factors: Sequence[Factor]) -> float:
    """Return the largest distance of a point from the centre in any range: 1 at the end of a range."""
    return max(
        (abs(at) for factor, at in zip(factors, place.coded, strict=True) if not factor.categorical), default=0.0
    )


def level_place(inside: bool, out: float, where: str) -> str:
    """Return where a surface is level, such as "within the ranges, at time 86 min"; beyond FAR without values."""
    if inside:
        return f"within the ranges, at {where}"
    if out > FAR:
        return f"far outside the ranges ({number(out, 2)} times as far from their middle as their ends)"
    return f"outside the ranges, at {where}"


def model(name: str) -> str:
    """Return the name of a model, such as "quadratic model" or "constant"."""
    return "constant" if name == "mean" else f"{MODELS[name]} model"


def power(value: float | None) -> str:
    """Return the name of the transformed response that is fitted; empty for the response itself."""
    return "" if value is None else "its logarithm" if value == 0 else f"its power {value:g}"


def transform(value: float) -> str:
    """Return a power in the form that --transform accepts."""
    return "log" if value == 0 else f"{value:.4g}"


def designed(design: Design) -> str:
    """Return the description of a design: its runs, what they can tell apart, and their order."""
    blocks = f" in {design.blocks} blocks" if design.blocks > 1 else ""
    lines = [
        f"{FAMILIES[design.family]} design: {counted(len(design.runs), 'run')} of "
        f"{counted(len(design.factors), 'factor')}{blocks}"
    ]
    points = [run.point for run in design.runs]
    parts = [f"{points.count(kind)} {kind}" for kind in ("cube", "edge", "axial", "centre") if kind in points]
    lines[0] += f" ({', '.join(parts)})."
    if design.alpha is not None:
        lines.append(
            f"Axial points lie {number(design.alpha, 6)} times as far from the centre as the faces of the cube."
        )
    if design.folded:
        every = len(design.folded) == len(design.factors)
        some = "all factors" if every else join_names(design.folded)
        alone = f" {some} and its interactions are clear of all others." if len(design.folded) == 1 else ""
        lines.append(f"Block 2 is the foldover of block 1 on {some}.{alone}")
    if design.partial is not None:
        lines.append(_partly(design))
    elif design.folded and design.resolution is None:
        lines.append("Together the blocks are a full factorial.")
    if design.partial is None and design.resolution is not None:
        relation = " = ".join(["I", *design.defining[:8], *(["…"] if len(design.defining) > 8 else [])])
        lines.append(
            f"Fraction of resolution {ROMAN.get(design.resolution, design.resolution)}: {relation}. {_clear(design)}"
        )
    if design.confounded:
        lines.append(f"Blocks are confounded with {join_names(design.confounded)}.")
    if design.letters and (design.defining or design.confounded):
        lines.append("Letters: " + ", ".join(f"{letter} {name}" for letter, name in design.letters.items()) + ".")
    order = "standard order" if design.seed is None else f"random order (seed {design.seed})"
    lines.append(f"The runs are in {order}: make them in this order, and write each result next to its run.")
    return "\n".join(lines)


def _partly(design: Design) -> str:
    share = design.partial or 0.0
    if share <= 0:
        return "Main effects are clear of two-factor interactions, which are aliased with each other (resolution IV)."
    return (
        f"A two-factor interaction is spread over the main effects of the other factors, up to {number(share, 2)} of "
        f"it in one (resolution III){'.' if design.folded else ': --fold all clears them.'}"
    )


def _clear(design: Design) -> str:
    if design.resolution == 3:
        return "Main effects are aliased with interactions of two other factors."
    if design.resolution == 4:
        return "Main effects are clear of two-factor interactions, which are aliased with each other."
    return "Main effects and two-factor interactions are clear of each other."


def partly(share: float) -> str:
    """Return the sentence about interactions that are partly aliased with the effects of factors."""
    if share <= 0:
        return "Two-factor interactions are aliased with each other here; main effects are clear of them."
    return (
        f"Partly aliased: each of these effects contains up to {number(share, 2)} of an interaction of two other "
        "factors. Interactions have no row of their own here."
    )


def whole(fit: DesignFit) -> str:
    """Return the sentences of all responses, one per line, and of the best compromise."""
    lines = [response_fit.sentence for response_fit in fit.responses]
    if fit.compromise is not None:
        best = fit.compromise
        if best.desirability <= 0:
            lines.append("No point within the ranges is acceptable for all responses: widen the goals or the ranges.")
        else:
            values = ", ".join(
                f"{response_fit.name} {interval(value)}"
                for response_fit, value in zip(fit.responses, best.responses, strict=True)
            )
            lines.append(
                f"Best compromise, desirability {best.desirability:.3f}: {at(best.at, fit.factors)}; there {values}."
            )
    return "\n".join(lines)


def response(fit: ResponseFit, factors: Sequence[Factor], level: float = 0.05) -> str:
    """Return the sentences about one response: its model, how well it fits, and its best place."""
    if fit.model == "mean":
        return _nothing(fit, factors, level)
    fitted = f" of {power(fit.power)}" if fit.power is not None else ""
    wrong = ", which does not fit (lack of fit)" if _lacks(fit, level) else ""
    wrong = ", which fits exactly" if fit.sd == 0 else wrong
    head = f"{fit.name}: {model(fit.model)}{fitted}{wrong}, R² {fit.r_squared:.3f}"
    head += f"{_predicted(fit.predicted)}."
    return head if fit.best is None else f"{head} {_best(fit, fit.best, factors)}"


def _predicted(value: float) -> str:
    """Return predicted R² as text; its size means nothing below 0."""
    if value < 0:
        return ", predicted R² below 0: it predicts worse than the mean of all runs"
    return f", predicted R² {value:.3f}" if math.isfinite(value) else ""


def _lacks(fit: ResponseFit, level: float) -> bool:
    return any(row.source == "lack of fit" and row.p_value < level for row in fit.anova)


def _best(fit: ResponseFit, best: BestPlace, factors: Sequence[Factor]) -> str:
    extreme = WANTED[fit.goal.kind].capitalize()
    if best.beyond and fit.goal.kind != "target":
        run = (max if fit.goal.kind == "max" else min)(fit.fitted, key=lambda fitted: fitted.fitted)
        place = ", ".join(
            f"{factor.name} {factor.worded(factor.natural(at), 5)}"
            for factor, at in zip(factors, run.coded, strict=True)
        )
        return (
            f"The {WANTED[fit.goal.kind]} value of the model is extrapolated, as there is no run nearby. {extreme} at "
            f"the place of a run: {number(run.fitted, 4)} at {place}."
        )
    return f"{extreme} within the ranges: {interval(best.value)} at {at(best.at, factors)}."


def _nothing(fit: ResponseFit, factors: Sequence[Factor], level: float) -> str:
    names = join_names([factor.name for factor in factors])
    if fit.effects is not None and fit.effects.freedom and (text := _by_pure_error(fit, level)):
        return text
    if _lacks(fit, level):
        return (
            f"{fit.name}: it differs from place to place, but no model of {names} that these runs allow describes how."
        )
    if fit.effects is not None and math.isnan(fit.detectable):
        real = [effect.term for effect in fit.effects.effects if effect.real]
        if real:
            return f"{_standing(fit.name, real)}; no runs are left to estimate the error of a model."
        return (
            f"{fit.name}: no effect of {names} is significant by Lenth's method, and no runs are left to "
            "estimate the error of a model."
        )
    if fit.certain:
        return f"{_standing(fit.name, fit.certain)}, but no model that these runs can test consists of these terms."
    if math.isnan(fit.detectable):
        return f"{fit.name}: too few runs for any model of {names}."
    unit = f" in {power(fit.power)}" if fit.power is not None else ""
    return (
        f"{fit.name}: no effect of {names} was seen in {counted(fit.runs, 'run')}; one of "
        f"{number(fit.detectable, 3)}"
        f"{unit} from the low to the high end of a range would have been seen in four of five such experiments."
    )


def _by_pure_error(fit: ResponseFit, level: float) -> str:
    """Return the effects and the curvature that repeated runs show although no testable model has them."""
    effects = fit.effects
    assert effects is not None
    parts = []
    if real := [row for row in effects.effects if row.real]:
        names = join_names(
            [f"{row.term} ({number(row.effect, 3)}, {number(abs(row.t), 2)} standard errors)" for row in real]
        )
        parts.append(f"{names} {'is' if len(real) == 1 else 'are'} significant against the pure error")
    bend = effects.curvature
    if bend is not None and bend.p_value < level:
        side = "above" if bend.value.value > 0 else "below"
        parts.append(
            f"the centre lies {number(abs(bend.value.value), 3)} {side} the mean of the corners (p "
            f"{p_value(bend.p_value)}), so the surface bends, and which factor bends it these runs cannot tell"
        )
    return f"{fit.name}: {'; '.join(parts)}." if parts else ""


def _standing(name: str, real: Sequence[str]) -> str:
    return f"{name}: {join_names(list(real))} {'is' if len(real) == 1 else 'are'} significant by Lenth's method"


def swarm_parameters(
    fit: str, parameters: SwarmParameters, own: Sequence[float], usual: Sequence[float], *, better: bool
) -> str:
    """Return the sentences about fitted swarm parameters: their score on fresh searches (R* and I*) and their use."""
    compared = (
        f"On fresh searches it misses {own[0]:.0%} of what could be gained, and takes {own[1]:.0%} of the trials to "
        f"miss no more than a fifth; the usual parameters {usual[0]:.0%} and {usual[1]:.0%}."
    )
    use = f"Use it: becalm tune --minimize time --method swarm --swarm {parameters.spelled}"
    return (
        f"{fit}\n{compared}\n{use if better else 'That is not clearly better: the usual parameters are as good here.'}"
    )
