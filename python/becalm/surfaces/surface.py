"""A fitted surface: its terms and blocks with their coefficients, predictions with their errors, and its polynomial.

Public: Data, Surface, fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from becalm.stats.arrays import Floats, Ints
from becalm.surfaces.least_squares import Fit, fit
from becalm.surfaces.polynomial import Polynomial
from becalm.surfaces.terms import Frame, Term, block_columns, columns


class Data(msgspec.Struct, frozen=True):
    """Runs of a design: `points`, shape (n, factors), in coded units; block and response of each, shape (n,)."""

    frame: Frame
    points: Floats
    blocks: Ints
    y: Floats

    @property
    def variables(self) -> Floats:
        """The variables of the points, shape (n, variables)."""
        return self.frame.expanded(self.points)

    def matrix(self, terms: Sequence[Term]) -> Floats:
        """Return the columns of a model, shape (n, p): the constant, the blocks, the terms."""
        return np.column_stack([np.ones(len(self.y)), block_columns(self.blocks), columns(self.variables, terms)])


class Surface(msgspec.Struct, frozen=True):
    """A surface with its terms; `fit` is the fit of the columns of `data.matrix(terms)`."""

    data: Data
    terms: tuple[Term, ...]
    fit: Fit

    @property
    def block_count(self) -> int:
        """The number of blocks after the first."""
        return len(np.unique(self.data.blocks)) - 1

    @property
    def polynomial(self) -> Polynomial:
        """The polynomial of the surface, at the mean of the blocks."""
        values = np.zeros(1 + self.block_count + len(self.terms))
        values[list(self.fit.columns)] = self.fit.coefficients
        blocks = values[1 : 1 + self.block_count]
        constant = values[0] + blocks.sum() / (self.block_count + 1)
        return self._polynomial(np.array([constant, *values[1 + self.block_count :]]))

    def rows(self, points: Floats) -> Floats:
        """Return the columns of the fit at some points, at the mean of the blocks, shape (n, columns)."""
        blocks = np.full((len(points), self.block_count), 1 / (self.block_count + 1))
        every = np.column_stack([np.ones(len(points)), blocks, columns(self.data.frame.expanded(points), self.terms)])
        return np.asarray(every[:, list(self.fit.columns)])

    def predict(self, points: Floats) -> Floats:
        """Return the values of the surface at some points, at the mean of the blocks, shape (n,)."""
        return np.asarray(self.rows(points) @ self.fit.coefficients)

    def leverage(self, points: Floats) -> Floats:
        """Return the variance of the prediction at some points in units of the residual variance, shape (n,)."""
        rows = self.rows(points)
        return np.asarray(np.einsum("ij,jk,ik->i", rows, self.fit.inverse, rows))

    def drawn(self, count: int, rng: np.random.Generator) -> Floats:
        """Return the coefficients of polynomials drawn from the joint t distribution of the estimates, shape (count,
        terms + 1): the uncertainty that the data leave (Box & Tiao 1973, Bayesian Inference in Statistical Analysis,
        2.7)."""
        freedom = self.fit.freedom
        # Exact data have no error, and a matrix of zeros has no root.
        root = np.linalg.cholesky(self.fit.inverse) * math.sqrt(self.fit.mse)
        normal = rng.standard_normal((count, len(self.fit.columns))) @ root.T
        scale = np.sqrt(freedom / rng.chisquare(freedom, count))[:, None]
        every = np.zeros((count, 1 + self.block_count + len(self.terms)))
        every[:, list(self.fit.columns)] = self.fit.coefficients + normal * scale
        blocks = every[:, 1 : 1 + self.block_count].sum(axis=1) / (self.block_count + 1)
        return np.column_stack([every[:, 0] + blocks, every[:, 1 + self.block_count :]])

    def _polynomial(self, coefficients: Floats) -> Polynomial:
        nothing = (0,) * len(self.data.frame.variables)
        return Polynomial(np.array([nothing, *(term.exponents for term in self.terms)]), coefficients)


def fitted(data: Data, terms: Sequence[Term]) -> Surface:
    """Return the surface with these terms."""
    return Surface(data, tuple(terms), fit(data.matrix(terms), data.y))
