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

ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""The share of the values themselves below which what is left of them is rounding, and no residual: of sums over some
tens of columns in doubles (Higham 2002, Accuracy and Stability of Numerical Algorithms, 3.1)."""

SATURATED = 1e-9
"""A run whose leverage is this close to 1 fits itself: leaving it out leaves its fitted value open."""


@dataclass(frozen=True, slots=True)
class Alias:
    """A column that is a combination of kept ones: their numbers with what each is multiplied by."""

    column: int
    of: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """`kept`: numbers of the columns that were fitted, which `coefficients` and `inverse`, (X'X)^-1, are of; `basis`:
    an orthonormal one of them, shape (n, kept)."""

    kept: tuple[int, ...]
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
    basis, upper, kept, lost = _whole(matrix) or _by_column(matrix)
    root = np.linalg.inv(upper)
    coefficients = np.asarray(root @ (basis.T @ y), dtype=np.float64)
    inverse = np.asarray(root @ root.T, dtype=np.float64)
    fitted = basis @ (basis.T @ y)
    aliased = []
    for index, share in zip(lost, (root @ (basis.T @ matrix[:, lost])).T, strict=True):
        of = tuple((kept[place], float(share[place])) for place in np.flatnonzero(np.abs(share) > 1e-6).tolist())
        aliased.append(Alias(index, of))
    leverage = (basis**2).sum(axis=1)
    return Fit(
        tuple(kept), coefficients, inverse, fitted, beyond_rounding(y - fitted, y), leverage, tuple(aliased), basis
    )


def beyond_rounding(rest: Floats, y: Floats) -> Floats:
    """Return what is left of `y`, or exact zeros where all of it is rounding."""
    return rest if float(np.linalg.norm(rest)) > ROUNDING * float(np.linalg.norm(y)) else np.zeros_like(rest)


_Columns = tuple[Floats, Floats, list[int], list[int]]
"""An orthonormal basis of the columns that are kept, these in terms of it, and the numbers of columns kept and lost."""


def _whole(matrix: Floats) -> _Columns | None:
    """Return the columns by Householder's reflections at once, where no column is lost; None where one is."""
    count = matrix.shape[1]
    if count > len(matrix):
        return None
    basis, upper = np.linalg.qr(matrix)
    sizes, whole = np.abs(np.diag(upper)), np.linalg.norm(matrix, axis=0)
    if (whole == 0).any() or (sizes < TOLERANCE * whole).any():
        return None
    return basis, upper, list(range(count)), []


def _by_column(matrix: Floats) -> _Columns:
    """Return the columns one after the other (Gram & Schmidt, twice), so that each is seen to be new or not."""
    whole_basis = np.empty((len(matrix), min(matrix.shape)))
    kept: list[int] = []
    lost: list[int] = []
    for index in range(matrix.shape[1]):
        column, basis = matrix[:, index], whole_basis[:, : len(kept)]
        rest = column - basis @ (basis.T @ column)
        # Once more: what rounding has left of the first projection.
        rest = rest - basis @ (basis.T @ rest)
        size, whole = float(np.linalg.norm(rest)), float(np.linalg.norm(column))
        if whole == 0 or size < TOLERANCE * whole or len(kept) == len(matrix):
            lost.append(index)
        else:
            whole_basis[:, len(kept)] = rest / size
            kept.append(index)
    found = np.ascontiguousarray(whole_basis[:, : len(kept)])
    return found, found.T @ matrix[:, kept], kept, lost
