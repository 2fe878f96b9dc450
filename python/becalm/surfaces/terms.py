"""Terms of a polynomial in factors, and its columns: ranges enter by their powers, choices by contrasts to their mean.

A factor with n choices has n - 1 variables: +1 for one of its later choices and -1 for the first (sum contrasts; of two
choices they are -1 and +1). Blocks are added to every model as effects relative to the first, as in R.

Public: ORDERS, Term, Frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations

import msgspec
import numpy as np

from becalm.stats.arrays import Floats, Ints
from becalm.surfaces.polynomial import monomials

ORDERS = ("linear", "2fi", "quadratic", "cubic")
"""Names of the models; each has the terms of those before it."""


class Term(msgspec.Struct, frozen=True):
    """A product of powers: `exponents`, one for each variable; `order`: the first model that has the term."""

    exponents: tuple[int, ...]
    order: str


class Frame(msgspec.Struct, frozen=True):
    """The kinds of the factors: `choices` is the number of choices of each factor, 0 for one with a range."""

    choices: tuple[int, ...]

    @property
    def variables(self) -> tuple[tuple[int, int], ...]:
        """The factor and the choice of each variable; the choice is 0 for a range."""
        return _variables(self.choices)

    @property
    def ranges(self) -> tuple[int, ...]:
        """The numbers of the variables that are ranges."""
        return tuple(index for index, (factor, _) in enumerate(self.variables) if not self.choices[factor])

    def expanded(self, points: Floats) -> Floats:
        """Return the values of the variables at points, shape (n, factors) to (n, variables)."""
        columns = []
        for factor, level in self.variables:
            at = points[:, factor]
            columns.append(np.where(at == level, 1.0, np.where(at == 0, -1.0, 0.0)) if self.choices[factor] else at)
        return np.stack(columns, axis=1)

    def terms(self, model: str) -> tuple[Term, ...]:
        """Return the terms of a model without the constant, in the order in which they are fitted."""
        return tuple(term for order in ORDERS[: ORDERS.index(model) + 1] for term in _terms(self, order))

    def name(self, term: Term, names: Sequence[str], choices: Sequence[Sequence[str]]) -> str:
        """Return a term in the names of factors and choices, such as time:temp, time^2, policy[batch]."""
        parts = []
        for (factor, level), power in zip(self.variables, term.exponents, strict=True):
            if power:
                factor_name = f"{names[factor]}[{choices[factor][level]}]" if self.choices[factor] else names[factor]
                parts.append(factor_name if power == 1 else f"{factor_name}^{power}")
        return ":".join(parts)


@cache
def _variables(choices: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((factor, level) for factor, many in enumerate(choices) for level in (range(1, many) if many else (0,)))


@cache
def _terms(frame: Frame, order: str) -> tuple[Term, ...]:
    """Return the terms that a model adds to those of the model before it."""
    of = [factor for factor, _ in frame.variables]
    ranges, every = frame.ranges, range(len(of))
    members: list[tuple[int, ...]]
    match order:
        case "linear":
            members = [(index,) for index in every]
        case "2fi":
            members = [two for two in combinations(every, 2) if of[two[0]] != of[two[1]]]
        case "quadratic":
            members = [(index, index) for index in ranges]
        case _:
            members = [(index, index, index) for index in ranges]
            members += [(index, index, other) for index in ranges for other in every if index != other]
            members += [three for three in combinations(every, 3) if len({of[index] for index in three}) == 3]
    return tuple(Term(tuple(several.count(index) for index in every), order) for several in members)


def columns(variables: Floats, terms: Sequence[Term]) -> Floats:
    """Return the values of terms at points, shape (n, variables) to (n, terms)."""
    if not terms:
        return np.empty((len(variables), 0))
    exponents = np.array([term.exponents for term in terms])
    return monomials(variables, exponents)


def block_columns(blocks: Ints) -> Floats:
    """Return the effects of blocks relative to the first, shape (n, blocks - 1)."""
    result: Floats = (blocks[:, None] == np.unique(blocks)[None, 1:]).astype(np.float64)
    return result
