"""The tables of a completed design, as text in cells."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec.structs import replace

from becalm.nouns.factor import Factor, Level
from becalm.nouns.finding import Interval
from becalm.nouns.knob import knobs_by_name
from becalm.report.table import Table
from becalm.results.design_fit import DesignFit, ResponseFit, SurfacePoint
from becalm.wording.design import FAR, at, between, distance, interval, level_place, number, p_value, partly
from becalm.wording.numbers import counted

SOURCES = {"2fi": "interactions of two", "quadratic": "squares", "cubic": "cubic terms"}


def every(fit: DesignFit) -> Iterator[Table]:
    """Yield all tables, in the order of a reader's questions."""
    if fit.compromise is not None:
        yield compromise(fit)
    for response in fit.responses:
        for table in of_response(fit, response):
            yield _titled(table, fit, response)


def short(fit: DesignFit) -> Iterator[Table]:
    """Yield the tables for the terminal."""
    if fit.compromise is not None:
        yield compromise(fit)
    for response in fit.responses:
        chosen = (best(fit, response), models(response), anova(response), coefficients(response), effects(response))
        yield from (_titled(table, fit, response) for table in chosen if table.rows)


def of_response(design_fit: DesignFit, fit: ResponseFit) -> Iterator[Table]:
    """Yield all tables of one response that have rows."""
    yield from (
        table
        for table in (
            best(design_fit, fit),
            models(fit),
            aliased(fit),
            anova(fit),
            coefficients(fit),
            effects(fit),
            canonical(design_fit, fit),
            places(design_fit, fit, "Best at each distance from the centre", fit.ridge),
            places(design_fit, fit, "Along the canonical path", fit.path),
            runs(design_fit, fit),
        )
        if table.rows
    )


def _titled(table: Table, design_fit: DesignFit, fit: ResponseFit) -> Table:
    title = f"{table.title}: {fit.name}" if len(design_fit.responses) > 1 else table.title
    return replace(table, title=title)


def facts(fit: DesignFit) -> str:
    """Return a line with the file, the number of runs and the confidence of the fit."""
    blocks = f" in {fit.blocks} blocks" if fit.blocks > 1 else ""
    return f"{fit.file}: {counted(fit.runs, 'run')}{blocks}; intervals at {100 * fit.confidence:g} %."


def compromise(fit: DesignFit) -> Table:
    """Return the table of the best point for all responses."""
    optimum = fit.compromise
    assert optimum is not None
    rows = [
        (factor.name, factor.worded(level), _along(factor, place))
        for factor, level, place in zip(fit.factors, optimum.at.levels, optimum.place, strict=True)
    ]
    rows += [
        (response.name, interval(value), f"desirability {share:.3f}")
        for response, value, share in zip(fit.responses, optimum.responses, optimum.desirabilities, strict=True)
    ]
    note = "The factors with the interval of where the best point lies, then the mean of each response there."
    return Table("Best compromise", ("", "value", ""), tuple(rows), note=note)


def best(design_fit: DesignFit, fit: ResponseFit) -> Table:
    """Return the table of the best point for one response."""
    head = ("", "value", "interval")
    if (top := fit.best) is None:
        return Table("Best place", head, ())
    rows = [
        (factor.name, factor.worded(level), _along(factor, place) or _choice(factor.choices, shares))
        for factor, level, place, shares in zip(design_fit.factors, top.at.levels, top.place, top.shares, strict=True)
    ]
    rows.append((f"{fit.name}, mean", _value_of(top.value), between(top.value.low, top.value.high)))
    if math.isfinite(top.band.low) or math.isfinite(top.band.high):
        rows.append((f"{fit.name}, best wherever it is", _value_of(top.band), between(top.band.low, top.band.high)))
    rows.append((f"{fit.name}, one more run", _value_of(top.next_run), between(top.next_run.low, top.next_run.high)))
    note = (
        "Within the ranges. Intervals of places come from surfaces drawn within the uncertainty of the fit; that of "
        "the mean is for this point (Student), that of the best for all points at once (Scheffe)."
    )
    return Table("Best place", head, tuple(rows), note=note)


def _value_of(estimate: Interval) -> str:
    """Return a value with the digits that its interval needs, at least six."""
    width = estimate.high - estimate.low
    needed = 0 if not math.isfinite(width) or width <= 0 else math.log10(max(abs(estimate.value), width) / width) + 3
    return number(estimate.value, max(6, math.ceil(needed)))


def _along(factor: Factor, place: Interval) -> str:
    """Return the interval of a place in levels of its factor; empty without one."""
    if math.isnan(place.low) and math.isnan(place.high):
        return ""
    return f"{factor.worded(place.low, 5)} to {factor.worded(place.high, 5)}"


def _choice(choices: tuple[str, ...], shares: tuple[float, ...]) -> str:
    return ", ".join(
        f"{choice} {100 * share:.0f} %" for choice, share in zip(choices, shares, strict=False) if share > 0
    )


def models(fit: ResponseFit) -> Table:
    """Return the table of the models that were tried."""
    rows = tuple(
        (
            row.model + (" *" if row.model == fit.model else ""),
            str(row.terms),
            str(row.freedom),
            number(row.sd),
            p_value(row.added_p),
            p_value(row.lack_p),
            _share(row.r_squared),
            _share(row.adjusted),
            _predicted(row.predicted),
            number(row.press),
            number(row.precision, 3),
        )
        for row in fit.models
    )
    head = ("model", "terms", "left", "sd", "p added", "p lack of fit", "R²", "adjusted", "predicted", "PRESS")
    note = (
        "left: runs left for the error; p added: whether its terms add something; p lack of fit: whether it misses by "
        "more than repeated runs differ; predicted: R² of runs that the model has not seen, from PRESS, below 0 where "
        "the mean of all runs predicts better; precision should be above 4. * chosen: "
        + ("as requested." if fit.requested else "the simplest that fits.")
    )
    return Table("Models", (*head, "precision"), rows, tuple(range(1, len(head) + 1)), note, spare=(1, 9, 7, 2, 3))


MOST_ALIASES = 40
"""The number of listed terms that cannot be told apart."""


def aliased(fit: ResponseFit) -> Table:
    """Return the table of terms that these runs cannot tell from others, for each model that has any."""
    rows = [(row.model, relation) for row in fit.models for relation in row.aliased]
    more = f"And {len(rows) - MOST_ALIASES} more. " if len(rows) > MOST_ALIASES else ""
    note = f"{more}Such a term is in no model: what it would add is counted for the others."
    return Table("Terms that these runs cannot tell apart", ("model", "term"), tuple(rows[:MOST_ALIASES]), note=note)


def _share(value: float) -> str:
    # Adding zero removes the sign of a value rounded to zero.
    return f"{round(value, 4) + 0.0:.4f}" if math.isfinite(value) else "–"


def _predicted(value: float) -> str:
    """Return predicted R² as text; below 0 its size means nothing, as one run can make it any number."""
    return "below 0" if value < 0 else _share(value)


def anova(fit: ResponseFit) -> Table:
    """Return the analysis of variance."""
    rows = tuple(
        (
            SOURCES.get(row.source, row.source) if not row.group else f"  {row.source}",
            str(row.freedom),
            number(row.sum_of_squares, 6),
            number(row.mean_square, 6),
            number(row.f),
            p_value(row.p_value),
        )
        for row in fit.anova
    )
    head = ("source", "df", "sum of squares", "mean square", "F", "p")
    note = "Sequential sums of squares: what each group of terms, and each term in it, adds to those above."
    if any(row.source == "lack of fit" for row in fit.anova):
        note += " Lack of fit is tested against pure error, by which runs at one place within one block differ."
    return Table("Analysis of variance", head, rows, tuple(range(1, 6)), note, spare=(3,))


def coefficients(fit: ResponseFit) -> Table:
    """Return the table of coefficients."""
    rows = tuple(
        (
            row.term,
            number(row.estimate, 6),
            number(row.error),
            number(row.t),
            p_value(row.p_value),
            between(row.low, row.high) or "–",
        )
        for row in fit.coefficients
    )
    note = "In coded units: a range goes from -1 to 1."
    if not math.isnan(fit.sd):
        share = f", {100 * fit.sd / abs(fit.mean):.2g} % of the mean" if fit.power is None and fit.mean else ""
        note += f" Standard deviation of the residuals: {number(fit.sd)}{share}."
    head = ("term", "estimate", "error", "t", "p", "interval")
    return Table("Coefficients", head, rows, tuple(range(1, 6)), note, spare=(3, 2, 4))


def effects(fit: ResponseFit) -> Table:
    """Return the table of effects of a two-level design."""
    head = ("effect", "from low to high", "share", "significant")
    if (table := fit.effects) is None:
        return Table("Effects", head, ())
    tested = table.freedom > 0
    rows = tuple(
        (
            row.term,
            number(row.effect),
            f"{100 * row.share:.1f} %",
            *((number(row.t), p_value(row.p_value)) if tested else ()),
            "surely" if row.certain else "yes" if row.real else "",
        )
        for row in table.effects
    )
    if (bend := table.curvature) is not None:
        rows += (("centre - corners", number(bend.value.value), "", number(bend.t), p_value(bend.p_value), ""),)
    source = f"Pure error, {table.freedom} df: standard error" if tested else "Lenth's pseudo standard error"
    note = (
        f"{source} {number(table.error)}: an effect is significant above {number(table.margin)} by itself, and as one "
        f"of all above {number(table.simultaneous)}. Share: of the sum of squares."
    )
    if bend is not None:
        note += " Centre - corners: the test of curvature, 1 df."
    if table.partial is not None:
        note += f" {partly(table.partial)}"
    if tested:
        return Table("Effects", (*head[:3], "t", "p", head[3]), rows, (1, 2, 3, 4), note)
    return Table("Effects", head, rows, (1, 2), note)


def canonical(design_fit: DesignFit, fit: ResponseFit) -> Table:
    """Return the table of eigenvalues with their directions."""
    ranges = [factor.name for factor in design_fit.factors if not factor.categorical]
    head = ("eigenvalue", *ranges)
    if (point := fit.stationary) is None:
        return Table("Canonical analysis", head, ())
    rows = tuple(
        (number(value, 6), *(f"{part:.4f}" for part in way))
        for value, way in zip(point.eigenvalues, point.directions, strict=True)
    )
    if point.place is None:
        note = f"A {point.kind}: the surface has no single stationary point."
    else:
        out = distance(point.place, design_fit.factors)
        where = level_place(point.inside, out, at(point.place, design_fit.factors))
        note = f"Stationary point: a {point.kind}, {where}"
        note += "." if out > FAR else f"; {fit.name} there {number(point.place.value, 6)}."
    note += (
        " Along a direction with a positive eigenvalue the response rises on both sides, with a negative one it falls."
    )
    return Table("Canonical analysis", head, rows, tuple(range(len(head))), note)


def places(design_fit: DesignFit, fit: ResponseFit, title: str, some: tuple[SurfacePoint, ...]) -> Table:
    """Return the table of points with their response; points far outside the ranges are only counted."""
    near = [place for place in some if distance(place, design_fit.factors) <= FAR]
    rows = tuple(
        (
            *(factor.worded(level, 5) for factor, level in zip(design_fit.factors, place.levels, strict=True)),
            number(place.value, 6),
            _outside(design_fit, place),
        )
        for place in near
    )
    head = (*(factor.name for factor in design_fit.factors), fit.name, "ranges")
    note = ""
    if near and len(near) < len(some):
        note = (
            f"{counted(len(some) - len(near), 'place')} more {'lies' if len(some) - len(near) == 1 else 'lie'} farther "
            f"from the middle than {FAR:g} times the ends of a range: a surface says nothing about such a place."
        )
    if any(row[-1] == NOT_ALLOWED for row in rows):
        note = f"{note} {NOT_ALLOWED}: no setting that the kernel takes.".strip()
    return Table(title, head, rows, tuple(range(len(head) - 1)), note)


def _outside(fit: DesignFit, place: SurfacePoint) -> str:
    """Return whether a place lies outside the ranges that were varied, and whether it can be set at all."""
    if all(abs(coded) <= 1 + 1e-9 for coded in _ranges(fit, place)):
        return ""
    return "outside" if all(map(_settable, fit.factors, place.levels)) else NOT_ALLOWED


def _settable(factor: Factor, level: Level) -> bool:
    """Return whether a knob of this name accepts a level; a factor that is no knob accepts any."""
    row = knobs_by_name().get(factor.name)
    numbers = None if row is None else row.domain.range
    if numbers is None or isinstance(level, str) or numbers.unit != factor.unit:
        return True
    return numbers.low <= level <= numbers.high


def _ranges(fit: DesignFit, place: SurfacePoint) -> list[float]:
    return [at for factor, at in zip(fit.factors, place.coded, strict=True) if not factor.categorical]


NOT_ALLOWED = "not allowed"
"""The note on places that no setting can have."""

MOST_RUNS = 200
"""The number of lines of the table of runs; of more runs, those with the largest residuals are shown."""


def runs(design_fit: DesignFit, fit: ResponseFit) -> Table:
    """Return the table of runs with their residuals and their influence on the fit."""
    blocks = design_fit.blocks > 1
    rows = tuple(
        (
            str(run.run),
            *([str(run.block)] if blocks else []),
            number(run.observed, 6),
            number(run.fitted, 6),
            number(run.residual),
            number(run.leverage, 3),
            number(run.studentised, 3),
            number(run.deleted, 3),
            number(run.cook, 3),
        )
        for run in sorted(fit.fitted, key=lambda run: run.run)
    )
    head = ("run", *(["block"] if blocks else []), "measured", "fitted", "residual", "leverage")
    head += ("studentised", "without it", "Cook's distance")
    note = "Residuals are in units of what was fitted."
    if len(rows) > MOST_RUNS:
        worst = sorted(rows, key=lambda row: -abs(_value(row[-3])))[:MOST_RUNS]
        note += f" Shown: {MOST_RUNS} of {len(rows)} runs, with the largest studentised residuals; --json has all."
        rows = tuple(sorted(worst, key=lambda row: int(row[0])))
    return Table("Runs", head, rows, tuple(range(len(head))), note)


def _value(cell: str) -> float:
    return 0.0 if cell == "–" else float(cell)
