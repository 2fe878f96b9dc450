"""Effects of the two-level part of a design: judged by the pure error where runs are repeated, else by Lenth's method.

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

    `mean`: the constant model, whose data and pure error these are.
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
        # Axial points or edges: that is a design for a surface.
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
    bend = _curvature(estimates, mean, points, corner, level) if freedom else None
    return EffectTable(tuple(rows), error, margin, simultaneous, estimates.partial, freedom, bend)


def _judge(estimates: Effects, mean: ModelSummary, corners: int, level: float) -> tuple[float, float, float, int]:
    """Return the standard error of an effect, its margin, that of all effects together, and the degrees of freedom.

    By repeated runs, wherever these differ; Lenth's pseudo standard error, of 0 degrees of freedom, else.
    """
    pure = mean.fit.pure
    if not pure.freedom or pure.sum_of_squares <= 0:
        return estimates.error, estimates.margin, estimates.simultaneous, 0
    error = 2 * math.sqrt(pure.mean_square / corners)
    together = (1 + (1 - level) ** (1 / len(estimates.effects))) / 2
    margins = [error * float(stdtrit(pure.freedom, at)) for at in (1 - level / 2, together)]
    return error, margins[0], margins[1], pure.freedom


def _curvature(
    estimates: Effects,
    mean: ModelSummary,
    points: Floats,
    corner: np.ndarray[tuple[int], np.dtype[np.bool_]],
    level: float,
) -> Curvature | None:
    """Return the centre less the mean of the corners, blocks and effects taken out; None without centre points."""
    data, pure = mean.surface.data, mean.fit.pure
    columns = [points[:, effect.factors].prod(axis=1) for effect in estimates.effects]
    matrix = np.column_stack([np.ones(len(data.y)), block_columns(data.blocks), *columns, ~corner])
    last = matrix.shape[1] - 1
    model = fit(matrix, data.y)
    if corner.all() or last not in model.columns:
        return None
    place = model.columns.index(last)
    value, error = float(model.coefficients[place]), math.sqrt(float(model.inverse[place, place]) * pure.mean_square)
    reach = error * float(stdtrit(pure.freedom, 1 - level / 2))
    t = value / error
    return Curvature(Interval(value, value - reach, value + reach), t, 2 * float(stdtr(pure.freedom, -abs(t))))
