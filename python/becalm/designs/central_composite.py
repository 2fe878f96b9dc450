"""Central composite designs: a cube (or a fraction of one), axial points and centre points, with or without blocks.

Box & Wilson 1951 (J. R. Stat. Soc. B 13:1), Box & Hunter 1957 (Ann. Math. Stat. 28:195). The distance of the axial
points from the centre is alpha; ALPHAS lists its kinds.

Public: ALPHAS, Composite, composite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
import numpy as np

from becalm.designs.factorial import Fraction, confounding, full_factorial, smallest_fraction
from becalm.designs.words import Word, span
from becalm.errors import UsageError
from becalm.stats.arrays import Floats, Ints

ALPHAS: Mapping[str, str] = {
    "rotatable": "predictions are equally precise in all directions: the fourth root of the cube's points",
    "face-centred": "axial points on the cube's faces: three levels, nothing outside the range",
    "inscribed": "rotatable, shrunk so that the axial points are the ends of the range",
    "spherical": "axial points as far out as the cube's corners: the square root of the number of factors",
    "orthogonal": "squares are uncorrelated; in blocks: all effects are independent of the blocks",
}
"""The named distances of axial points; a number is used as it is."""

LEAST, MOST = 2, 15


class Composite(msgspec.Struct, frozen=True):
    """Points in coded units, shape (runs, factors), and the kind and block (from 0) of each.

    `alpha`: distance of the axial points in units of the cube's half edge; `cube`: the two-level part; `words`: the
    words that split the cube into blocks.
    """

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

    `centre`: number of centre points in each block of the cube, and in the block of the axial points; without blocks
    their sum counts. `blocks`: 1, or one for the axial points plus 1, 2, 4, … for the cube. From five factors on the
    cube is the smallest fraction in which no two interactions of two factors are aliased (resolution V). Raises
    UsageError.
    """
    if not LEAST <= count <= MOST:
        raise UsageError(f"A central composite design has {LEAST} to {MOST} numeric factors, not {count}.")
    if blocks < 1 or (blocks > 1 and (blocks - 1).bit_count() != 1):
        raise UsageError(
            f"A central composite design has 1, 2, 3, 5 or 9 blocks, not {blocks}: the axial points are one block, "
            "next to 1, 2, 4 or 8 of the cube."
        )
    cube = full_factorial(count) if count < 5 else smallest_fraction(count, 5)
    cube_blocks = max(1, blocks - 1)
    words = confounding(cube, cube_blocks) if cube_blocks > 1 else ()
    if words and len(shortest := span(words)[0]) < 3 and cube_blocks > 1:
        raise UsageError(
            f"In {blocks} blocks the effect of the interaction {shortest.text} could not be estimated. Take fewer "
            "blocks."
        )
    cube_centres, axial_centres = centre if centre is not None else _default_centres(count, blocks)
    if cube_centres < 0 or axial_centres < 0 or cube_centres + axial_centres == 0:
        raise UsageError(
            "A central composite design needs at least one centre point; three or more also estimate the noise."
        )
    distance = _alpha(alpha, cube, cube_centres * cube_blocks, axial_centres, blocks)
    corner, tip = (1 / distance, 1.0) if alpha == "inscribed" else (1.0, distance)
    axial = np.zeros((2 * count, count))
    axial[np.arange(2 * count), np.arange(2 * count) // 2] = np.tile([-tip, tip], count)
    cube_block = np.zeros(len(cube.points), dtype=np.int64)
    for place, word in enumerate(words):
        cube_block += (word.column(cube.points) > 0).astype(np.int64) << place
    rows: list[tuple[Floats, str, int]] = []
    for block in range(cube_blocks):
        rows += [(row * corner, "cube", block) for row in cube.points[cube_block == block]]
        rows += [(np.zeros(count), "centre", block)] * cube_centres
    last = 0 if blocks == 1 else cube_blocks
    rows += [(row, "axial", last) for row in axial]
    rows += [(np.zeros(count), "centre", last)] * axial_centres
    return Composite(
        np.array([row for row, _, _ in rows]),
        tuple(kind for _, kind, _ in rows),
        np.array([block for _, _, block in rows], dtype=np.int64),
        distance,
        cube,
        words,
    )


def _default_centres(count: int, blocks: int) -> tuple[int, int]:
    """Return the numbers of centre points in a block of the cube and in the block of the axial points.

    Without blocks: five for two factors and six for more, as uniform precision demands for up to three (Box & Hunter
    1957, table 2). In blocks they are spread, at least two in each, so that each block shows the noise.
    """
    if blocks == 1:
        return (5 if count == 2 else 6), 0
    number = max(2, round(6 / blocks))
    return number, number


def _alpha(kind: str | float, cube: Fraction, cube_centres: int, axial_centres: int, blocks: int) -> float:
    if not isinstance(kind, str):
        if not (math.isfinite(kind) and kind > 0):
            raise UsageError(f"The distance of axial points must be above 0, not {kind}.")
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
            return math.sqrt(corners * (2 * count + axial_centres) / (2 * (corners + cube_centres)))
        runs = corners + 2 * count + cube_centres + axial_centres
        return math.sqrt((math.sqrt(runs * corners) - corners) / 2)
    raise UsageError(f"--alpha is one of {', '.join(ALPHAS)}, or a number, not {kind!r}.")
