"""Least squares with what diagnosis needs: leverages, and which columns are combinations of those before them.

Columns that add nothing to the columns before them are left out and reported, as in R's `lm` and with its tolerance
(LINPACK's dqrdc2, 1e-7), instead of returning one of many solutions.

Public: Alias, Fit, fit.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from becalm.stats.arrays import Floats

TOLERANCE = 1e-7
"""Share of a column that must be new; below it the column is a combination of the columns before it."""

ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""Residuals below this share of the values are rounding errors of sums over some tens of columns in doubles (Higham
2002, Accuracy and Stability of Numerical Algorithms, 3.1)."""

SATURATED = 1e-9
"""Distance of the leverage from 1 below which a run fits itself: without the run its fitted value is undefined."""


class Alias(msgspec.Struct, frozen=True):
    """A column that is a combination of fitted ones: pairs of their numbers and factors."""

    column: int
    of: tuple[tuple[int, float], ...]


class Fit(msgspec.Struct, frozen=True):
    """A fit by least squares.

    `columns`: the numbers of the columns that were fitted; `coefficients` and `inverse`, (X'X)^-1, are in their order;
    `basis`: an orthonormal basis of them, shape (n, columns)."""

    columns: tuple[int, ...]
    coefficients: Floats
    inverse: Floats
    fitted: Floats
    residuals: Floats
    leverage: Floats
    aliased: tuple[Alias, ...]
    basis: Floats

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the residuals."""
        return len(self.fitted) - len(self.columns)

    @property
    def sse(self) -> float:
        """Residual sum of squares."""
        return float(self.residuals @ self.residuals)

    @property
    def mse(self) -> float:
        """Residual mean square; NaN without degrees of freedom."""
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
    basis, upper, columns, lost = _all_columns(matrix) or _by_column(matrix)
    root = np.linalg.inv(upper)
    coefficients = np.asarray(root @ (basis.T @ y), dtype=np.float64)
    inverse = np.asarray(root @ root.T, dtype=np.float64)
    fitted = basis @ (basis.T @ y)
    aliased = []
    for index, share in zip(lost, (root @ (basis.T @ matrix[:, lost])).T, strict=True):
        of = tuple((columns[place], float(share[place])) for place in np.flatnonzero(np.abs(share) > 1e-6).tolist())
        aliased.append(Alias(index, of))
    leverage = (basis**2).sum(axis=1)
    return Fit(
        tuple(columns), coefficients, inverse, fitted, beyond_rounding(y - fitted, y), leverage, tuple(aliased), basis
    )


def beyond_rounding(rest: Floats, y: Floats) -> Floats:
    """Return the residuals `rest` of `y`, or exact zeros where all of them are rounding errors."""
    return rest if float(np.linalg.norm(rest)) > ROUNDING * float(np.linalg.norm(y)) else np.zeros_like(rest)


_Columns = tuple[Floats, Floats, list[int], list[int]]
"""An orthonormal basis of the fitted columns, these columns in terms of it, and the numbers of fitted and lost ones."""


def _all_columns(matrix: Floats) -> _Columns | None:
    """Return all columns at once, by Householder's reflections; None where a column is lost."""
    count = matrix.shape[1]
    if count > len(matrix):
        return None
    basis, upper = np.linalg.qr(matrix)
    sizes, lengths = np.abs(np.diag(upper)), np.linalg.norm(matrix, axis=0)
    if (lengths == 0).any() or (sizes < TOLERANCE * lengths).any():
        return None
    return basis, upper, list(range(count)), []


def _by_column(matrix: Floats) -> _Columns:
    """Return the columns one after the other (Gram & Schmidt, twice), dropping those that are not new."""
    whole_basis = np.empty((len(matrix), min(matrix.shape)))
    columns: list[int] = []
    lost: list[int] = []
    for index in range(matrix.shape[1]):
        column, basis = matrix[:, index], whole_basis[:, : len(columns)]
        rest = column - basis @ (basis.T @ column)
        # The second projection removes the rounding error of the first.
        rest = rest - basis @ (basis.T @ rest)
        size, whole = float(np.linalg.norm(rest)), float(np.linalg.norm(column))
        if whole == 0 or size < TOLERANCE * whole or len(columns) == len(matrix):
            lost.append(index)
        else:
            whole_basis[:, len(columns)] = rest / size
            columns.append(index)
    orthonormal = np.ascontiguousarray(whole_basis[:, : len(columns)])
    return orthonormal, orthonormal.T @ matrix[:, columns], columns, lost
