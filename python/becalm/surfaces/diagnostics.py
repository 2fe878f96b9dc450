"""The influence of each run on a fit: leverage, studentised residuals, Cook's distance, normal scores.

Cook & Weisberg 1982 (Residuals and Influence in Regression, chapters 2 and 3).

Public: Diagnostics, diagnose.
"""

from __future__ import annotations

import msgspec
import numpy as np
from scipy.special import stdtr

from becalm.stats.arrays import Floats
from becalm.stats.normal_scores import normal_scores
from becalm.surfaces.least_squares import SATURATED, Fit

INFLUENTIAL = 1.0
"""Cook's distance from which one run moves all coefficients by about their joint uncertainty."""


class Diagnostics(msgspec.Struct, frozen=True):
    """The diagnostics of each run, shape (n,): the residual over its standard error (`studentised`); the same with the
    error estimated without that run (`deleted`); Cook's distance; the normal score against which `studentised` is
    plotted; NaN for runs that fit themselves. `outliers`: p-values of `deleted` after Bonferroni's correction."""

    studentised: Floats
    deleted: Floats
    cook: Floats
    scores: Floats
    outliers: Floats


def diagnose(fit: Fit) -> Diagnostics:
    """Return the diagnostics of a fit; all NaN where no run is left for the error."""
    left = 1 - fit.leverage
    free = (left > SATURATED) & (fit.freedom > 0) & (fit.mse > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        studentised = np.where(free, fit.residuals / np.sqrt(fit.mse * left), np.nan)
        rest = (
            (fit.sse - fit.residuals**2 / left) / (fit.freedom - 1) if fit.freedom > 1 else np.full_like(left, np.nan)
        )
        deleted = np.where(free, fit.residuals / np.sqrt(rest * left), np.nan)
        cook = np.where(free, studentised**2 * fit.leverage / left / max(1, len(fit.columns)), np.nan)
        sure = 2 * stdtr(max(1, fit.freedom - 1), -np.abs(deleted))
    scores = np.full(len(left), np.nan)
    scores[free] = normal_scores(studentised[free])
    return Diagnostics(studentised, deleted, cook, scores, np.minimum(1.0, sure * int(free.sum())))
