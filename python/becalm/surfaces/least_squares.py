"""Least squares with what diagnosis needs: leverages, and which columns are combinations of those before them.

Columns that add nothing to those before are left out and told, as R's `lm` does with the same tolerance (LINPACK's
dqrdc2, 1e-7), instead of returning one of many solutions.

Public: Alias, Fit, fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from becalm.stats.arrays import Floats

TOLERANCE = 1e-7
"""A column of which less than this share is new is a combination of the columns before it."""

SATURATED = 1e-9
"""A run whose leverage is this close to 1 fits itself: leaving it out leaves its fitted value open."""


@dataclass(frozen=True, slots=True)
class Alias:
    """A column that is a combination of kept ones: their numbers with what each is multiplied by."""

    column: int
    of: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """`kept`: numbers of the columns that were fitted, which `coefficients` and `inverse`, (X'X)^-1, are of."""

    kept: tuple[int, ...]
    coefficients: Floats
    inverse: Floats
    fitted: Floats
    residuals: Floats
    leverage: Floats
    aliased: tuple[Alias, ...]

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the residuals."""
        return len(self.fitted) - len(self.kept)

    @property
    def sse(self) -> float:
        """Residual sum of squares."""
        return float(self.residuals @ self.residuals)

    @property
    def mse(self) -> float:
        """Residual mean square; NaN where no run is left for it."""
        return self.sse / self.freedom if self.freedom else math.nan

    @property
    def press(self) -> float:
        """Sum of squares of the errors in predicting each run from all others (Allen 1974, Technometrics 16:125);
        infinite where a run fits itself."""
        left = 1 - self.leverage
        if (left < SATURATED).any():
            return math.inf
        return float(((self.residuals / left) ** 2).sum())

    @property
    def errors(self) -> Floats:
        """Standard errors of the coefficients."""
        return np.asarray(np.sqrt(np.diag(self.inverse) * self.mse))


def fit(matrix: Floats, y: Floats) -> Fit:
    """Fit `y`, shape (n,), by the columns of `matrix`, shape (n, p), the first of which is not all zeros."""
    basis = np.empty((len(y), 0))
    kept: list[int] = []
    lost: list[int] = []
    for index in range(matrix.shape[1]):
        column = matrix[:, index]
        rest = column - basis @ (basis.T @ column)
        # Once more: what rounding has left of the first projection.
        rest = rest - basis @ (basis.T @ rest)
        size, whole = float(np.linalg.norm(rest)), float(np.linalg.norm(column))
        if whole == 0 or size < TOLERANCE * whole:
            lost.append(index)
        else:
            kept.append(index)
            basis = np.column_stack([basis, rest / size])
    chosen = matrix[:, kept]
    upper = basis.T @ chosen
    coefficients = np.asarray(np.linalg.solve(upper, basis.T @ y), dtype=np.float64)
    inverse = np.asarray(np.linalg.inv(upper.T @ upper), dtype=np.float64)
    fitted = basis @ (basis.T @ y)
    aliased = []
    for index in lost:
        share = np.linalg.solve(upper, basis.T @ matrix[:, index])
        of = tuple((kept[place], float(each)) for place, each in enumerate(share) if abs(each) > 1e-6)
        aliased.append(Alias(index, of))
    return Fit(tuple(kept), coefficients, inverse, fitted, y - fitted, (basis**2).sum(axis=1), tuple(aliased))
