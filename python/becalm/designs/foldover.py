"""Foldover: a second half of a two-level design, in which the signs of all factors, or of some, are reversed.

Effects aliased through a word of the defining relation that contains an odd number of the folded factors have the
opposite sign in the second half, so the two halves together separate them. With all factors folded resolution III
becomes IV; with one factor folded, that factor and its interactions are clear (Box, Hunter & Hunter 2005, 6.9 to 6.11;
Montgomery, 8.6.3). The second half is a block of its own, so it can be run after looking at the first.

Public: Folding, fold_over, fold_fraction, folded_factors.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from becalm.designs.factorial import Fraction
from becalm.designs.words import LETTERS, Word
from becalm.errors import UsageError
from becalm.stats.arrays import Floats

ALL = "all"


class Folding(msgspec.Struct, frozen=True):
    """A fraction and its foldover: `cube` has the second half after the first; `block` is the word confounded with
    halves."""

    cube: Fraction
    block: tuple[Word, ...]


def folded_factors(choices: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the factors to fold, named by name, by letter, or as "all". Raises UsageError."""
    numbers = set()
    for choice in choices:
        if choice == ALL and ALL not in names:
            return tuple(range(len(names)))
        if choice in names:
            numbers.add(names.index(choice))
        elif len(choice) == 1 and choice in LETTERS[: len(names)]:
            numbers.add(LETTERS.index(choice))
        else:
            raise UsageError(
                f"--fold takes all, or the name or letter of a factor ({', '.join(names)}), not {choice!r}."
            )
    return tuple(sorted(numbers))


def fold_over(points: Floats, numbers: Sequence[int]) -> Floats:
    """Return points, shape (n, factors), and after them a copy with some factors' signs reversed: (2 n, factors)."""
    reversed_points = points.copy()
    reversed_points[:, list(numbers)] *= -1
    return np.vstack([points, reversed_points])


def fold_fraction(cube: Fraction, numbers: Sequence[int]) -> Folding:
    """Return a fraction and its foldover as one design. Raises UsageError where the foldover repeats the same runs."""
    if not cube.defining:
        raise UsageError(
            "The foldover of a full factorial repeats the same runs. Use --replicates 2 instead of --fold."
        )
    mask = Word.of(*numbers).factors
    common = [word for word in cube.defining if (word.factors & mask).bit_count() % 2 == 0]
    removed = tuple(word for word in cube.defining if word not in common)
    if not removed:
        relation = " = ".join(["I", *(word.text for word in cube.defining[:4])])
        single = LETTERS[cube.defining[0].members[0]]
        raise UsageError(
            f"This foldover would repeat the same runs: every word of {relation} has an even number of the folded "
            f"factors. Fold one factor only: --fold {single}."
        )
    return Folding(Fraction(cube.count, fold_over(cube.points, numbers), (), tuple(common)), removed[:1])
