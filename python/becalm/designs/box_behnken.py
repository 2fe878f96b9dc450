"""Box-Behnken designs for three to seven factors: three levels, no corner of the cube.

The groups of factors that are varied together, and the blocks, are those of Box & Behnken 1960 (Technometrics 2:455,
table 1). Pairing all factors, as some programs do, gives 60 and 84 runs for six and seven factors instead of 48 and 56.

Public: TABLE, PublishedDesign, BoxBehnken, box_behnken.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import msgspec
import numpy as np

from becalm.errors import UsageError
from becalm.stats.arrays import Floats, Ints


class PublishedDesign(msgspec.Struct, frozen=True):
    """A row of the published table: groups of factors (numbered from 1) by block, and the total of centre points.

    A design without orthogonal blocks has all groups in one string. `by_sign`: it has two blocks, by the sign of the
    product of the factors of each group.
    """

    groups: tuple[str, ...]
    centre: int
    by_sign: bool = False

    @property
    def blocks(self) -> int:
        """The number of orthogonal blocks that the design can be run in."""
        return 2 if self.by_sign else len(self.groups)


TABLE: Mapping[int, PublishedDesign] = {
    3: PublishedDesign(("12 13 23",), 3),
    4: PublishedDesign(("12 34", "14 23", "13 24"), 3),
    5: PublishedDesign(("12 34 25 13 45", "23 14 35 15 24"), 6),
    6: PublishedDesign(("124 235 346 145 256 136",), 6, by_sign=True),
    7: PublishedDesign(("456 167 257 124 347 135 236",), 6, by_sign=True),
}
"""The published designs by number of factors."""


class BoxBehnken(msgspec.Struct, frozen=True):
    """Points in coded units, shape (runs, factors), and the kind and block (from 0) of each."""

    points: Floats
    kinds: tuple[str, ...]
    blocks: Ints


def box_behnken(count: int, centre: int | None = None, blocks: int = 1) -> BoxBehnken:
    """Return the design for `count` factors with `centre` centre points in each block. Raises UsageError."""
    if (published := TABLE.get(count)) is None:
        raise UsageError(
            f"Box-Behnken designs are published for 3 to 7 numeric factors, not {count}. Take becalm design central."
        )
    if blocks not in (1, published.blocks):
        numbers = f"1 or {published.blocks}" if published.blocks > 1 else "1"
        raise UsageError(f"The Box-Behnken design of {count} factors has {numbers} blocks, not {blocks}.")
    inside = centre if centre is not None else published.centre // blocks
    if inside < 1:
        raise UsageError(
            "A Box-Behnken design needs a centre point in each block; three or more also estimate the noise."
        )
    rows: list[tuple[Floats, str, int]] = []
    for place, groups in enumerate(published.groups):
        for group in groups.split():
            members = [int(digit) - 1 for digit in group]
            # The first factor changes fastest, as in a factorial.
            for signs in (reversed_signs[::-1] for reversed_signs in product((-1.0, 1.0), repeat=len(members))):
                row = np.zeros(count)
                row[members] = signs
                block = place if not published.by_sign else int(np.prod(signs) > 0)
                rows.append((row, "edge", block if blocks > 1 else 0))
    rows += [(np.zeros(count), "centre", block) for block in range(blocks) for _ in range(inside)]
    rows.sort(key=lambda row: row[2])
    return BoxBehnken(
        np.array([row for row, _, _ in rows]),
        tuple(kind for _, kind, _ in rows),
        np.array([block for _, _, block in rows], dtype=np.int64),
    )
