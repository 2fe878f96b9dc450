"""Words: products of factors that define a regular two-level design, and the group that they span.

A word is a set of letters with a sign. The product of two words has the letters that exactly one of them has, since the
square of a column of +-1 is the identity (Finney 1945, Ann. Eugenics 12:291; Box & Hunter 1961, Technometrics 3:311).

Public: LETTERS, Word, span, search, products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import msgspec
import numpy as np

from becalm.errors import UsageError
from becalm.stats.arrays import Floats

LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
"""The names of factors in words; I is the identity."""


class Word(msgspec.Struct, frozen=True, order=True):
    """A product of factors: `factors` has one bit for each, `sign` is 1 or -1."""

    factors: int
    sign: int = 1

    @classmethod
    def of(cls, *factors: int, sign: int = 1) -> Word:
        """Return the product of some factors, numbered from 0."""
        return cls(sum(1 << factor for factor in set(factors)), sign)

    @classmethod
    def parse(cls, text: str, count: int) -> Word:
        """Return a word such as ABC or -BD of the first `count` letters. Raises UsageError."""
        sign, letters = (-1, text.strip()[1:]) if text.strip().startswith("-") else (1, text.strip().removeprefix("+"))
        allowed = LETTERS[:count]
        if not letters or set(letters) - set(allowed) or len(set(letters)) < len(letters):
            raise UsageError(f"{text.strip()!r} is not a product of different factors among {', '.join(allowed)}.")
        return cls.of(*(LETTERS.index(letter) for letter in letters), sign=sign)

    def __mul__(self, other: Word) -> Word:
        return Word(self.factors ^ other.factors, self.sign * other.sign)

    def __len__(self) -> int:
        return self.factors.bit_count()

    @property
    def members(self) -> tuple[int, ...]:
        """The numbers of its factors, from 0."""
        return tuple(index for index in range(self.factors.bit_length()) if self.factors >> index & 1)

    @property
    def text(self) -> str:
        """The word with its letters, in order."""
        return ("-" if self.sign < 0 else "") + ("".join(LETTERS[member] for member in self.members) or "I")

    def column(self, points: Floats) -> Floats:
        """Return the product of its factors' columns, shape (runs,), for points of shape (runs, factors)."""
        return np.asarray(self.sign * points[:, list(self.members)].prod(axis=1))


def span(generators: Iterable[Word]) -> tuple[Word, ...]:
    """Return all products of some words except the identity, the shortest first."""
    words: list[Word] = []
    for generator in generators:
        words += [generator, *(generator * other for other in words)]
    return tuple(sorted(words, key=lambda word: (len(word), word.factors)))


def search(
    candidates: Sequence[Word],
    count: int,
    is_clear: Callable[[int], bool],
    generated_bit: Callable[[int], int] = lambda depth: 0,
) -> tuple[Word, ...] | None:
    """Return `count` words, earlier candidates preferred, every product of which is clear; None where there are none.

    `is_clear` is called with the bits of a product. `generated_bit` returns additional bits for the word chosen at each
    depth. The search is depth first (Franklin & Bailey 1977, Appl. Stat. 26:321).
    """

    def extend(start: int, chosen: tuple[Word, ...], spanned: tuple[int, ...]) -> tuple[Word, ...] | None:
        if len(chosen) == count:
            return chosen
        for place in range(start, len(candidates)):
            new = candidates[place].factors | generated_bit(len(chosen))
            products = (new, *(new ^ bits for bits in spanned))
            if all(map(is_clear, products)):
                words = extend(place + 1, (*chosen, candidates[place]), (*spanned, *products))
                if words is not None:
                    return words
        return None

    return extend(0, (), ())


def products(members: Sequence[int], least: int = 1) -> list[Word]:
    """Return all words of some factors with at least `least` letters, the longest first."""
    return [
        Word.of(*letters)
        for size in range(len(members), max(least, 1) - 1, -1)
        for letters in combinations(members, size)
    ]
