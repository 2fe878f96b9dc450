"""Terms of a polynomial in factors, and its columns: ranges enter by their powers, choices by contrasts to their mean.

A factor with n choices has n - 1 variables, +1 for one of its later choices and -1 for the first (sum contrasts; of two
choices they are -1 and +1). Blocks are added to every model as effects relative to the first, as R does.

Public: ORDERS, Term, Frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from becalm.stats.arrays import Floats, Ints
from becalm.surfaces.polynomial import monomials

ORDERS = ("linear", "2fi", "quadratic", "cubic")
"""Models, each with the terms of those before it."""


@dataclass(frozen=True, slots=True)
class Term:
    """A product of powers: the exponent of each variable; `order`: the first model that has it."""

    exponents: tuple[int, ...]
    order: str


@dataclass(frozen=True, slots=True)
class Frame:
    """What the factors are: `choices` has 0 for a range and the number of choices else."""

    choices: tuple[int, ...]

    @property
    def variables(self) -> tuple[tuple[int, int], ...]:
        """Of each variable its factor, and which of its choices, 0 for a range."""
        return tuple(
            (factor, level) for factor, many in enumerate(self.choices) for level in (range(1, many) if many else (0,))
        )

    @property
    def ranges(self) -> tuple[int, ...]:
        """Variables that are ranges."""
        return tuple(index for index, (factor, _) in enumerate(self.variables) if not self.choices[factor])

    def expanded(self, points: Floats) -> Floats:
        """Variables of points, shape (n, factors) to (n, variables)."""
        columns = []
        for factor, level in self.variables:
            at = points[:, factor]
            columns.append(np.where(at == level, 1.0, np.where(at == 0, -1.0, 0.0)) if self.choices[factor] else at)
        return np.stack(columns, axis=1)

    def terms(self, model: str) -> tuple[Term, ...]:
        """Terms of a model without the constant, in the order in which they are fitted."""
        variables = self.variables
        of = [factor for factor, _ in variables]

        def powers(*members: int) -> tuple[int, ...]:
            return tuple(members.count(index) for index in range(len(variables)))

        ranges, every = self.ranges, range(len(of))
        found = [Term(powers(one), "linear") for one in every]
        found += [Term(powers(*two), "2fi") for two in combinations(every, 2) if of[two[0]] != of[two[1]]]
        found += [Term(powers(one, one), "quadratic") for one in ranges]
        found += [Term(powers(one, one, one), "cubic") for one in ranges]
        found += [Term(powers(one, one, other), "cubic") for one in ranges for other in every if one != other]
        found += [
            Term(powers(*three), "cubic") for three in combinations(every, 3) if len({of[each] for each in three}) == 3
        ]
        allowed = ORDERS[: ORDERS.index(model) + 1]
        return tuple(each for each in found if each.order in allowed)

    def name(self, term: Term, names: Sequence[str], choices: Sequence[Sequence[str]]) -> str:
        """A term in the names of the factors: time:temp, time^2, policy[batch]."""
        parts = []
        for (factor, level), power in zip(self.variables, term.exponents, strict=True):
            if power:
                shown = f"{names[factor]}[{choices[factor][level]}]" if self.choices[factor] else names[factor]
                parts.append(shown if power == 1 else f"{shown}^{power}")
        return ":".join(parts)


def columns(variables: Floats, terms: Sequence[Term]) -> Floats:
    """The terms at points, shape (n, variables) to (n, terms)."""
    if not terms:
        return np.empty((len(variables), 0))
    exponents = np.array([each.exponents for each in terms])
    return monomials(variables, exponents)


def block_columns(blocks: Ints) -> Floats:
    """Effects of blocks relative to the first, shape (n, blocks - 1)."""
    found: Floats = (blocks[:, None] == np.unique(blocks)[None, 1:]).astype(np.float64)
    return found
