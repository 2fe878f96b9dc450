"""Words: products of factors, of which a regular two-level design is made, and the group that they span.

A word is a set of letters with a sign; the product of two has the letters that only one of them has, since the square
of a column of +-1 is the identity (Finney 1945, Ann. Eugenics 12:291; Box & Hunter 1961, Technometrics 3:311).

Public: LETTERS, Word, group, search, products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from becalm.errors import UsageError
from becalm.stats.arrays import Floats

LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
"""Names of factors in words; I is the identity."""


@dataclass(frozen=True, slots=True, order=True)
class Word:
    """`factors`: one bit for each; `sign` 1 or -1."""

    factors: int
    sign: int = 1

    @classmethod
    def of(cls, *factors: int, sign: int = 1) -> Word:
        """Return the product of some factors by number, from 0."""
        return cls(sum(1 << factor for factor in set(factors)), sign)

    @classmethod
    def parse(cls, text: str, count: int) -> Word:
        """Return a word such as ABC or -BD of the first `count` letters. Raises UsageError."""
        sign, letters = (-1, text.strip()[1:]) if text.strip().startswith("-") else (1, text.strip().removeprefix("+"))
        known = LETTERS[:count]
        if not letters or set(letters) - set(known) or len(set(letters)) < len(letters):
            raise UsageError(f"{text.strip()!r} is no product of some of the factors {', '.join(known)}, each once.")
        return cls.of(*(LETTERS.index(letter) for letter in letters), sign=sign)

    def __mul__(self, other: Word) -> Word:
        return Word(self.factors ^ other.factors, self.sign * other.sign)

    def __len__(self) -> int:
        return self.factors.bit_count()

    @property
    def members(self) -> tuple[int, ...]:
        """Numbers of its factors."""
        return tuple(index for index in range(self.factors.bit_length()) if self.factors >> index & 1)

    @property
    def text(self) -> str:
        """The word with its letters, in order."""
        return ("-" if self.sign < 0 else "") + ("".join(LETTERS[member] for member in self.members) or "I")

    def column(self, points: Floats) -> Floats:
        """Return the product of its columns, shape (n,)."""
        return np.asarray(self.sign * points[:, list(self.members)].prod(axis=1))


def group(generators: Iterable[Word]) -> tuple[Word, ...]:
    """Return all products of some words except the identity, the shortest first."""
    words: list[Word] = []
    for generator in generators:
        words += [generator, *(generator * other for other in words)]
    return tuple(sorted(words, key=lambda word: (len(word), word.factors)))


def search(
    candidates: Sequence[Word], wanted: int, clear: Callable[[int], bool], own: Callable[[int], int] = lambda depth: 0
) -> tuple[Word, ...] | None:
    """Return `wanted` words, earlier ones preferred, of which every product is `clear` (called with its bits); None
    where there are none. `own`: additional bits of the word chosen at each place. Depth first (Franklin & Bailey 1977,
    Appl. Stat. 26:321)."""

    def extended(start: int, chosen: tuple[Word, ...], spanned: tuple[int, ...]) -> tuple[Word, ...] | None:
        if len(chosen) == wanted:
            return chosen
        for place in range(start, len(candidates)):
            new = candidates[place].factors | own(len(chosen))
            products = (new, *(new ^ each for each in spanned))
            if all(map(clear, products)):
                words = extended(place + 1, (*chosen, candidates[place]), (*spanned, *products))
                if words is not None:
                    return words
        return None

    return extended(0, (), ())


def products(members: Sequence[int], least: int = 1) -> list[Word]:
    """Return all words of some factors with at least `least` letters, the longest first."""
    return [
        Word.of(*some) for size in range(len(members), max(least, 1) - 1, -1) for some in combinations(members, size)
    ]
