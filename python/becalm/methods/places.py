"""Places in a space of factors as numbers, for methods that move through it.

A range has one coordinate in coded units from -1 to 1; choices have one coordinate each, of which the largest is set.
So a particle that is attracted to another one's choice switches when that coordinate has become its largest; choices
have no order and no middle.
"""

from __future__ import annotations

import msgspec
import numpy as np

from becalm.nouns.factor import Level
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats


class Places(msgspec.Struct, frozen=True):
    """The coordinates of a space."""

    space: Space

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return sum(len(factor.choices) or 1 for factor in self.space.factors)

    def settings(self, at: Floats) -> Settings:
        """Return the settings at a place, shape (size,)."""
        levels: dict[str, Level] = {}
        place = 0
        for factor in self.space.factors:
            width = len(factor.choices) or 1
            here = at[place : place + width]
            levels[factor.name] = factor.natural(float(here.argmax() if factor.categorical else here[0]))
            place += width
        return self.space.at(levels)

    def scatter(self, count: int, rng: np.random.Generator) -> Floats:
        """Return places that fill the space evenly, shape (count, size).

        Each part of a range occurs once (a Latin hypercube, McKay, Beckman & Conover 1979), each choice equally often.
        """
        columns = [np.empty((count, 0))]
        for factor in self.space.factors:
            share = (rng.permutation(count) + rng.random(count)) / count
            if factor.categorical:
                chosen = np.minimum((share * len(factor.choices)).astype(int), len(factor.choices) - 1)
                columns.append(np.where(np.arange(len(factor.choices)) == chosen[:, None], 1.0, -1.0))
            else:
                columns.append(2 * share[:, None] - 1)
        return np.hstack(columns)
