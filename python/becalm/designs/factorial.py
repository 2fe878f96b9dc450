"""Two-level factorials and their regular fractions: generators, defining relation, resolution, aliases, blocks.

Box, Hunter & Hunter 2005 (Statistics for Experimenters, 2nd ed., chapters 5 and 6). Points are +-1 in standard (Yates)
order, the first factor changing fastest. Fractions that are not named by their generators have those of minimum
aberration that Montgomery prints (Design and Analysis of Experiments, table 8.14); beyond 11 factors they are searched
for at the highest resolution.

Public: Fraction, full_factorial, fraction, smallest_fraction, best_fraction, confounding, MOST_RUNS.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import msgspec
import numpy as np

from becalm.designs.words import LETTERS, Word, products, search, span
from becalm.errors import UsageError
from becalm.stats.arrays import Floats

MOST_RUNS = 4096
"""The limit of points in a cube, far above any experiment."""

MOST_FACTORS = 15

PUBLISHED = {
    (3, 1): "C=AB",
    (4, 1): "D=ABC",
    (5, 1): "E=ABCD",
    (5, 2): "D=AB E=AC",
    (6, 1): "F=ABCDE",
    (6, 2): "E=ABC F=BCD",
    (6, 3): "D=AB E=AC F=BC",
    (7, 1): "G=ABCDEF",
    (7, 2): "F=ABCD G=ABDE",
    (7, 3): "E=ABC F=BCD G=ACD",
    (7, 4): "D=AB E=AC F=BC G=ABC",
    (8, 2): "G=ABCD H=ABEF",
    (8, 3): "F=ABC G=ABD H=BCDE",
    (8, 4): "E=BCD F=ACD G=ABC H=ABD",
    (9, 2): "H=ACDFG J=BCEFG",
    (9, 3): "G=ABCD H=ACEF J=CDEF",
    (9, 4): "F=BCDE G=ACDE H=ABDE J=ABCE",
    (9, 5): "E=ABC F=BCD G=ACD H=ABD J=ABCD",
    (10, 3): "H=ABCG J=BCDE K=ACDF",
    (10, 4): "G=BCDF H=ACDF J=ABDE K=ABCE",
    (10, 5): "F=ABCD G=ABCE H=ABDE J=ACDE K=BCDE",
    (10, 6): "E=ABC F=BCD G=ACD H=ABD J=ABCD K=AB",
    (11, 4): "H=ABCG J=BCDE K=ACDF L=ABCDEFG",
    (11, 5): "G=CDE H=ABCD J=ABF K=BDEF L=ADEF",
    (11, 6): "F=ABC G=BCD H=CDE J=ACD K=ADE L=BDE",
    (11, 7): "E=ABC F=BCD G=ACD H=ABD J=ABCD K=AB L=AC",
}
"""The published generators by number of factors and number of generators."""


class Fraction(msgspec.Struct, frozen=True):
    """A full factorial or a regular fraction of it: points of `count` factors, shape (runs, count).

    `generators`: number and word of each generated factor; `defining`: the defining relation, the shortest word first,
    empty for a full factorial.
    """

    count: int
    points: Floats
    generators: tuple[tuple[int, Word], ...] = ()
    defining: tuple[Word, ...] = ()

    @property
    def resolution(self) -> int | None:
        """The length of the shortest word of the defining relation; None: no two effects are aliased."""
        return len(self.defining[0]) if self.defining else None

    def aliases(self, order: int = 2) -> tuple[tuple[Word, ...], ...]:
        """Return effects of up to `order` factors that cannot be told apart, in groups of two or more.

        The sign of an effect is relative to the first of its group.
        """
        seen: set[int] = set()
        groups = []
        for size in range(1, order + 1):
            for members in combinations(range(self.count), size):
                effect = Word.of(*members)
                if effect.factors in seen:
                    continue
                aliased = [effect, *(product for word in self.defining if 0 < len(product := effect * word) <= order)]
                seen |= {alias.factors for alias in aliased}
                if len(aliased) > 1:
                    groups.append((effect, *sorted(aliased[1:], key=lambda word: (len(word), word.factors))))
        return tuple(groups)


def full_factorial(count: int) -> Fraction:
    """Return the full factorial. Raises UsageError for more than MOST_RUNS points."""
    if 2**count > MOST_RUNS:
        raise UsageError(f"A full factorial of {count} factors has {2**count:,} runs. Take a fraction: --resolution 4.")
    numbers = np.arange(2**count)[:, None]
    return Fraction(count, np.where(numbers >> np.arange(count) & 1, 1.0, -1.0))


def fraction(count: int, generators: Sequence[str]) -> Fraction:
    """Return the fraction with generators such as "D=ABC" or "E=-AC". Raises UsageError for invalid ones."""
    words: dict[int, Word] = {}
    for text in generators:
        new, equals, rest = text.partition("=")
        name = new.strip()
        if not equals or len(name) != 1 or name not in LETTERS[:count]:
            raise UsageError(
                f"{text!r} is not a generator. Write a factor's letter, = and the product that gives its levels: "
                f"D=ABC. The letters are {LETTERS[0]} to {LETTERS[count - 1]}, without I, in the order in which the "
                "factors are named."
            )
        index = LETTERS.index(name)
        if index in words:
            raise UsageError(f"The factor {name} has two generators. Give it one.")
        words[index] = Word.parse(rest, count)
    base = [index for index in range(count) if index not in words]
    if len(base) < 1 or any(set(word.members) - set(base) for word in words.values()):
        raise UsageError(
            "A generator must be a product of factors without generators, and at least one factor must have none."
        )
    base_points = full_factorial(len(base)).points
    points = np.empty((len(base_points), count))
    points[:, base] = base_points
    for index, word in words.items():
        points[:, index] = word.column(points)
    # The identity is the product of a factor and the word that generates it.
    defining = span(word * Word.of(index) for index, word in sorted(words.items()))
    if defining and len(defining[0]) < 2:
        raise UsageError("With these generators one factor would have the same level in all runs.")
    return Fraction(count, points, tuple(sorted(words.items())), defining)


def best_fraction(count: int, runs: int) -> Fraction:
    """Return the best fraction with `runs` runs, a power of two. Raises UsageError."""
    base = runs.bit_length() - 1
    if runs < 2 or 2**base != runs or base > count:
        raise UsageError(f"A two-level design of {count} factors has 2, 4, 8, … up to {2**count:,} runs, not {runs}.")
    if base == count:
        return full_factorial(count)
    if published := PUBLISHED.get((count, count - base)):
        return fraction(count, published.split())
    for resolution in range(base + 1, 2, -1):
        words = search(
            products(range(base), resolution - 1),
            count - base,
            lambda word, least=resolution: word.bit_count() >= least,  # type: ignore[misc]
            lambda depth: 1 << (base + depth),
        )
        if words is not None:
            texts = [f"{LETTERS[base + index]}={word.text}" for index, word in enumerate(words)]
            return fraction(count, texts)
    raise UsageError(
        f"{runs} runs are too few to distinguish the effects of {count} factors. Take {2 ** count.bit_length()} or "
        "more."
    )


def smallest_fraction(count: int, resolution: int) -> Fraction:
    """Return the fraction with the fewest runs that has at least this resolution. Raises UsageError."""
    if resolution < 3:
        raise UsageError("Below resolution 3 factors are aliased with each other. Take 3, 4, 5 or more.")
    for base in range(1, count):
        if 2**base <= count or 2**base > MOST_RUNS:
            continue
        design = best_fraction(count, 2**base)
        if (design.resolution or count + 1) >= resolution:
            return design
    return full_factorial(count)


def confounding(design: Fraction, blocks: int) -> tuple[Word, ...]:
    """Return words whose signs split the points of a design into `blocks` blocks, a power of two.

    The words of their group are as long as possible, also when multiplied by the defining relation: no factor, and
    where possible no interaction of two, is confounded with a block. Raises UsageError where a factor would be.
    """
    count = blocks.bit_length() - 1
    if blocks < 1 or 2**count != blocks or blocks >= len(design.points):
        raise UsageError(f"A cube of {len(design.points)} points is split into 2, 4, 8, … blocks, not {blocks}.")
    base = [index for index in range(design.count) if index not in dict(design.generators)]
    aliases = (0, *(word.factors for word in design.defining))
    for shortest in range(design.count, 1, -1):
        words = search(
            products(base),
            count,
            lambda word, least=shortest: all((word ^ alias).bit_count() >= least for alias in aliases),  # type: ignore[misc]
        )
        if words is not None:
            return words
    raise UsageError(
        f"{len(design.points)} runs cannot be split into {blocks} blocks without losing a factor's effect."
    )
