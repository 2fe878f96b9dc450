"""Central composite designs: a cube (or a fraction of one), axial points and centre points, whole or in blocks.

Box & Wilson 1951 (J. R. Stat. Soc. B 13:1), Box & Hunter 1957 (Ann. Math. Stat. 28:195). How far out the axial points
lie is the distance alpha, of which ALPHAS lists the kinds.

Public: ALPHAS, Composite, composite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from becalm.designs.factorial import Fraction, confounding, full, smallest
from becalm.designs.words import Word, group
from becalm.errors import UsageError
from becalm.stats.arrays import Floats, Ints

ALPHAS: Mapping[str, str] = {
    "rotatable": "predictions are equally sure in all directions: the fourth root of the cube's points",
    "face-centred": "axial points on the cube's faces: three levels, nothing outside the range",
    "inscribed": "rotatable, drawn in so that the axial points are the ends of the range",
    "spherical": "axial points as far out as the cube's corners: the square root of the number of factors",
    "orthogonal": "squares are uncorrelated; in blocks: all effects are independent of the blocks",
}
"""The distances of axial points, in words; a number is taken as it is."""

LEAST, MOST = 2, 15


@dataclass(frozen=True, slots=True)
class Composite:
    """`points`, shape (runs, factors), in coded units; of each its kind and block, from 0. `alpha`: distance of the
    axial points in units of the cube's; `cube`: the two-level part; `words`: what splits it into blocks."""

    points: Floats
    kinds: tuple[str, ...]
    blocks: Ints
    alpha: float
    cube: Fraction
    words: tuple[Word, ...] = ()


def composite(
    count: int, alpha: str | float = "rotatable", centre: tuple[int, int] | None = None, blocks: int = 1
) -> Composite:
    """Return the design for `count` factors.

    `centre`: centre points of each block of the cube, and of that of the axial points; without blocks their sum.
    `blocks`: 1, or that of the axial points and 1, 2, 4, … of the cube. From five factors on the cube is the smallest
    fraction in which no two interactions of two factors are aliased (resolution V). Raises UsageError.
    """
    if not LEAST <= count <= MOST:
        raise UsageError(f"A central composite design has {LEAST} to {MOST} numeric factors, not {count}.")
    if blocks < 1 or (blocks > 1 and (blocks - 1).bit_count() != 1):
        raise UsageError(
            f"A central composite design is in 1, 2, 3, 5 or 9 blocks, not {blocks}: the axial points are one."
        )
    cube = full(count) if count < 5 else smallest(count, 5)
    parts = max(1, blocks - 1)
    words = confounding(cube, parts) if parts > 1 else ()
    if words and len(words_length := group(words)[0]) < 3 and parts > 1:
        raise UsageError(f"In {blocks} blocks the interaction {words_length.text} would be lost. Take fewer blocks.")
    inside, outside = centre if centre is not None else _centres(count, blocks)
    if inside < 0 or outside < 0 or inside + outside == 0:
        raise UsageError("A central composite design needs a centre point at least; three or more show the noise.")
    distance = _alpha(alpha, cube, inside * parts, outside, blocks)
    unit, far = (1 / distance, 1.0) if alpha == "inscribed" else (1.0, distance)
    axial = np.zeros((2 * count, count))
    axial[np.arange(2 * count), np.arange(2 * count) // 2] = np.tile([-far, far], count)
    of_cube = np.zeros(len(cube.points), dtype=np.int64)
    for place, word in enumerate(words):
        of_cube += (word.column(cube.points) > 0).astype(np.int64) << place
    rows: list[tuple[Floats, str, int]] = []
    for block in range(parts):
        rows += [(row * unit, "cube", block) for row in cube.points[of_cube == block]]
        rows += [(np.zeros(count), "centre", block)] * inside
    last = 0 if blocks == 1 else parts
    rows += [(row, "axial", last) for row in axial]
    rows += [(np.zeros(count), "centre", last)] * outside
    return Composite(
        np.array([row for row, _, _ in rows]),
        tuple(kind for _, kind, _ in rows),
        np.array([block for _, _, block in rows], dtype=np.int64),
        distance,
        cube,
        words,
    )


def _centres(count: int, blocks: int) -> tuple[int, int]:
    """Return the centre points: five for two factors and six for more, as uniform precision demands for up to three
    (Box & Hunter 1957, table 2); spread over the blocks, at least two in each, so that each shows the noise."""
    if blocks == 1:
        return (5 if count == 2 else 6), 0
    each = max(2, round(6 / blocks))
    return each, each


def _alpha(kind: str | float, cube: Fraction, inside: int, outside: int, blocks: int) -> float:
    if not isinstance(kind, str):
        if not (math.isfinite(kind) and kind > 0):
            raise UsageError(f"Axial points lie at a distance above 0, not {kind}.")
        return float(kind)
    corners, count = len(cube.points), cube.count
    if kind in ("rotatable", "inscribed"):
        return float(corners**0.25)
    if kind == "face-centred":
        return 1.0
    if kind == "spherical":
        return math.sqrt(count)
    if kind == "orthogonal":
        if blocks > 1:
            # Sums of squares of a factor are in proportion to the sizes of the blocks (Box & Hunter 1957, eq. 78).
            return math.sqrt(corners * (2 * count + outside) / (2 * (corners + inside)))
        runs = corners + 2 * count + inside + outside
        return math.sqrt((math.sqrt(runs * corners) - corners) / 2)
    raise UsageError(f"--alpha is one of {', '.join(ALPHAS)}, or a number, not {kind!r}.")
