"""Foldover: a two-level design once more with the signs of all factors, or of some, the other way round.

What was aliased through a word of the defining relation with an odd number of these factors has the other sign in the
second half: put together these words go, and with all factors folded resolution III becomes IV; with one, that factor
and its interactions are clear (Box, Hunter & Hunter 2005, 6.9 to 6.11; Montgomery, 8.6.3). The second half is a block
of its own, so that it can be made after the first was looked at.

Public: Folding, folded, folding, members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from becalm.designs.factorial import Fraction
from becalm.designs.words import LETTERS, Word
from becalm.errors import UsageError
from becalm.stats.arrays import Floats

ALL = "all"


@dataclass(frozen=True, slots=True)
class Folding:
    """`cube`: both halves, the second after the first; `block`: the word that cannot be told from the halves."""

    cube: Fraction
    block: tuple[Word, ...]


def members(given: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the factors that are folded, given by name, by letter, or all. Raises UsageError."""
    found = set()
    for each in given:
        if each == ALL and ALL not in names:
            return tuple(range(len(names)))
        if each in names:
            found.add(names.index(each))
        elif len(each) == 1 and each in LETTERS[: len(names)]:
            found.add(LETTERS.index(each))
        else:
            raise UsageError(f"--fold takes all, or a factor's name or letter: {', '.join(names)}. Not {each!r}.")
    return tuple(sorted(found))


def folded(points: Floats, which: Sequence[int]) -> Floats:
    """Return points, shape (n, factors), and after them these with some signs reversed: (2 n, factors)."""
    other = points.copy()
    other[:, list(which)] *= -1
    return np.vstack([points, other])


def folding(cube: Fraction, which: Sequence[int]) -> Folding:
    """Return a fraction and its foldover as one design. Raises UsageError where that is the same runs again."""
    if not cube.defining:
        raise UsageError("A whole factorial folded has the same runs again: that is --replicates 2.")
    turned = Word.of(*which).factors
    kept = [word for word in cube.defining if (word.factors & turned).bit_count() % 2 == 0]
    lost = tuple(word for word in cube.defining if word not in kept)
    if not lost:
        relation = " = ".join(["I", *(word.text for word in cube.defining[:4])])
        alone = LETTERS[cube.defining[0].members[0]]
        raise UsageError(
            f"Folded so, this fraction has the same runs again: every word of {relation} has an even number of the "
            f"factors that are folded. Fold a single one: --fold {alone}."
        )
    return Folding(Fraction(cube.count, folded(cube.points, which), (), tuple(kept)), lost[:1])
