"""Effects of the two-level part of a design, judged by the pure error of repeated runs, or without them by Lenth's
method.

Box, Hunter & Hunter 2005 (Statistics for Experimenters, 5.4 and 5.12); curvature: Montgomery 2019 (Design and Analysis
of Experiments, 6.8).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr, stdtrit

from becalm.nouns.factor import Factor
from becalm.nouns.finding import Interval
from becalm.results.design_fit import Curvature, EffectRow, EffectTable
from becalm.stats.arrays import Floats
from becalm.surfaces.anova import ModelSummary
from becalm.surfaces.effects import Effects, effects, named
from becalm.surfaces.least_squares import fit
from becalm.surfaces.terms import block_columns


def effect_table(factors: Sequence[Factor], mean: ModelSummary, level: float) -> EffectTable | None:
    """Return the effects of a two-level part that is balanced, also within its blocks; None for another design.

    `mean`: the constant model, which holds the data and their pure error; `level`: the probability of a false effect.
    """
    data = mean.surface.data
    points = data.points.copy()
    for index, factor in enumerate(factors):
        if factor.categorical:
            if len(factor.choices) > 2:
                return None
            points[:, index] = 2 * points[:, index] - 1
    corner = (np.abs(np.abs(points) - 1) < 1e-9).all(axis=1)
    if corner.sum() < len(points) and (np.abs(points[~corner]) > 1e-9).any():
        # Axial points or edges belong to a design for a surface.
        return None
    estimates = effects(points[corner].round(), data.y[corner], level, data.blocks[corner])
    if estimates is None:
        return None
    names = [factor.name for factor in factors]
    error, margin, simultaneous, freedom = _judge(estimates, mean, int(corner.sum()), level)
    total = sum(effect.sum_of_squares for effect in estimates.effects) or math.nan
    rows = []
    for effect in estimates.effects:
        t = effect.value / error if freedom else math.nan
        rows.append(
            EffectRow(
                term=named(effect, names),
                effect=effect.value,
                sum_of_squares=effect.sum_of_squares,
                share=effect.sum_of_squares / total,
                score=effect.score,
                real=abs(effect.value) > margin,
                certain=abs(effect.value) > simultaneous,
                t=t,
                p_value=2 * float(stdtr(freedom, -abs(t))) if freedom else math.nan,
            )
        )
    curvature = _curvature(estimates, mean, points, corner, level) if freedom else None
    return EffectTable(tuple(rows), error, margin, simultaneous, estimates.partial, freedom, curvature)


def _judge(estimates: Effects, mean: ModelSummary, corners: int, level: float) -> tuple[float, float, float, int]:
    """Return the standard error of an effect, its margin, the simultaneous margin of all effects, and the degrees of
    freedom.

    They come from repeated runs where these differ, else from Lenth's pseudo standard error with 0 degrees of freedom.
    """
    pure = mean.fit.pure
    if not pure.freedom or pure.sum_of_squares <= 0:
        return estimates.error, estimates.margin, estimates.simultaneous, 0
    error = 2 * math.sqrt(pure.mean_square / corners)
    simultaneous_level = (1 + (1 - level) ** (1 / len(estimates.effects))) / 2
    margins = [error * float(stdtrit(pure.freedom, quantile)) for quantile in (1 - level / 2, simultaneous_level)]
    return error, margins[0], margins[1], pure.freedom


def _curvature(
    estimates: Effects,
    mean: ModelSummary,
    points: Floats,
    corner: np.ndarray[tuple[int], np.dtype[np.bool_]],
    level: float,
) -> Curvature | None:
    """Return the mean at the centre less that at the corners, adjusted for blocks and effects; None without centre
    points."""
    data, pure = mean.surface.data, mean.fit.pure
    columns = [points[:, effect.factors].prod(axis=1) for effect in estimates.effects]
    matrix = np.column_stack([np.ones(len(data.y)), block_columns(data.blocks), *columns, ~corner])
    last = matrix.shape[1] - 1
    model = fit(matrix, data.y)
    if corner.all() or last not in model.columns:
        return None
    position = model.columns.index(last)
    value, error = (
        float(model.coefficients[position]),
        math.sqrt(float(model.inverse[position, position]) * pure.mean_square),
    )
    half_width = error * float(stdtrit(pure.freedom, 1 - level / 2))
    t = value / error
    return Curvature(
        Interval(value, value - half_width, value + half_width), t, 2 * float(stdtr(pure.freedom, -abs(t)))
    )
