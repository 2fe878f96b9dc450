"""The first points of the method `surface`: designs for a surface of second order, and two-level designs to screen.

Axial points lie on the faces of the cube, because levels beyond a factor's range are impossible and the best settings
of a machine are often at its ends. Points are in coded units, choices are numbered; each design is in blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import msgspec
import numpy as np

from becalm.designs.box_behnken import TABLE, box_behnken
from becalm.designs.central_composite import composite
from becalm.designs.factorial import full_factorial, smallest_fraction
from becalm.designs.plackett_burman import SIZES, plackett_burman
from becalm.errors import UsageError
from becalm.nouns.factor import Factor
from becalm.stats.arrays import Floats, Ints

MOST_RANGES = 4
"""The largest number of ranges that are not screened first; a surface of more takes at least 45 runs."""

MOST_POINTS = 64
"""The number of points above which factors whose choices lengthen the design are screened, too."""

MOST_SCREENED = 32
"""The most runs of a screening design of resolution IV; where it would be longer, the resolution is III."""


class Layout(msgspec.Struct, frozen=True):
    """A design: its name, its points, shape (runs, factors), and the block of each point, from 0."""

    name: str
    points: Floats
    blocks: Ints


def layouts(factors: Sequence[Factor]) -> list[Layout]:
    """Return designs for a surface in these factors, the most informative and longest first."""
    ranges = [index for index, factor in enumerate(factors) if not factor.categorical]
    choices = [range(len(factor.choices)) for factor in factors if factor.categorical]
    chosen = [index for index, factor in enumerate(factors) if factor.categorical]
    every = list(product(*choices))
    combinations = np.array(every, dtype=np.float64).reshape(len(every), len(chosen))
    designs: list[Layout] = []
    for of_range in _range_designs(len(ranges)):
        points = np.empty((len(of_range.points) * len(combinations), len(factors)))
        points[:, ranges] = np.tile(of_range.points, (len(combinations), 1))
        points[:, chosen] = np.repeat(combinations, len(of_range.points), axis=0)
        designs.append(Layout(of_range.name, points, np.tile(of_range.blocks, len(combinations))))
    return designs


def _range_designs(count: int) -> list[Layout]:
    if count == 0:
        return [Layout("every combination twice", np.zeros((2, 0)), np.array([0, 1]))]
    if count == 1:
        levels = np.array([-1.0, 0.0, 1.0, -0.5, 0.0, 0.5, -1.0, 0.0, 1.0])[:, None]
        short = np.array([-1.0, 0.0, 1.0, 0.0])[:, None]
        return [
            Layout("five levels", levels, np.repeat([0, 1, 2], 3)),
            Layout("three levels", short, np.array([0, 0, 0, 1])),
        ]
    result = [_composite(count)]
    if count in TABLE:
        plain = box_behnken(count, 3)
        result.append(Layout("Box-Behnken", plain.points, plain.blocks))
    cube = (full_factorial(count) if count < 4 else smallest_fraction(count, 4)).points
    centre = np.zeros((2, count))
    result.append(Layout("two-level with centre points", np.vstack([cube, centre]), np.zeros(len(cube) + 2, np.int64)))
    return result


def _composite(count: int) -> Layout:
    for blocks in (3, 2):
        try:
            design = composite(count, "face-centred", None, blocks)
        except UsageError:
            # The cube cannot be split without confounding an interaction.
            continue
        return Layout("face-centred central composite", design.points, design.blocks)
    design = composite(count, "face-centred")
    return Layout("face-centred central composite", design.points, design.blocks)


def needs_screening(factors: Sequence[Factor]) -> bool:
    """Return whether these factors are screened first."""
    ranges = sum(not factor.categorical for factor in factors)
    if ranges > MOST_RANGES or math.prod(len(factor.choices) for factor in factors if factor.categorical) > MOST_POINTS:
        return True
    return len(layouts(factors)[0].points) > MOST_POINTS


def two_levels(count: int, resolution: int) -> Floats:
    """Return a two-level design with the fewest runs, `count` columns of +1 and -1, shape (runs, count).

    With resolution 4 the columns are products of an odd number of base columns, with resolution 3 any products (Box &
    Hunter 1961, Technometrics 3:311).
    """
    base = 1
    while (2 ** (base - 1) if resolution == 4 else 2**base - 1) < count:
        base += 1
    words = [word for word in range(1, 2**base) if resolution == 3 or word.bit_count() % 2]
    words.sort(key=lambda word: (word.bit_count(), word))
    return np.array(
        [[1.0 if (row & word).bit_count() % 2 else -1.0 for word in words[:count]] for row in range(2**base)]
    )


def screening(factors: Sequence[Factor], rng: np.random.Generator) -> list[Layout]:
    """Return two-level designs that separate the factors, the most informative first.

    A factor with more than two choices takes as many columns as binary numbers of the choices have digits; some choices
    may then occur twice as often as others.
    """
    columns = [1 if not factor.categorical else max(1, math.ceil(math.log2(len(factor.choices)))) for factor in factors]
    count, result = sum(columns), []
    for name, cube in _cubes(count):
        points = np.empty((len(cube), len(factors)))
        first = 0
        for index, (factor, width) in enumerate(zip(factors, columns, strict=True)):
            own = cube[:, first : first + width]
            first += width
            number = ((own > 0) @ (1 << np.arange(width))).astype(np.float64)
            points[:, index] = number % len(factor.choices) if factor.categorical else own[:, 0]
        # Random blocks keep drift from being confounded with a factor.
        order = rng.permutation(len(points))
        blocks = np.empty(len(points), dtype=np.int64)
        blocks[order] = np.arange(len(points)) * max(1, len(points) // 8) // len(points)
        result.append(Layout(name, points, blocks))
    return result


def _cubes(count: int) -> list[tuple[str, Floats]]:
    """Return two-level designs of `count` columns by name, the longest first."""
    result = []
    if len(clear := two_levels(count, 4)) <= MOST_SCREENED:
        result.append(("two-level design of resolution IV", clear))
    regular = two_levels(count, 3)
    if not result or len(regular) < len(clear):
        result.append(("two-level design of resolution III", regular))
    if 2 <= count < SIZES[-1] and len(short := plackett_burman(count)) < len(result[-1][1]):
        result.append(("Plackett-Burman design", short))
    return result
