"""Plackett-Burman designs: two levels of up to 47 factors in the next multiple of four runs above their number.

Plackett & Burman 1946 (Biometrika 33:305): the first column is published, each further column is the one before moved
down by one, and a run with all factors low comes last; the design of 28 runs consists of three blocks of nine. Designs
of 8, 16 and 32 runs are regular fractions (`factorial`) and not here. The effect of a factor contains a part of each
interaction of two others, a third in 12 runs: `partial_aliasing`.

Public: COLUMNS, SIZES, plackett_burman, partial_aliasing.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from becalm.errors import UsageError
from becalm.stats.arrays import Floats

COLUMNS: Mapping[int, str] = {
    12: "++-+++---+-",
    20: "++--++++-+-+----++-",
    24: "+++++-+-++--++--+-+----",
    36: "-+-+++---+++++-+++--+----+-+-++--+-",
    44: "++--+-+--+++-+++++---+-+++-----+---++-+-++-",
    48: "+++++-++++--+-+-+++--+--++-++---+-+-++----+----",
}
"""The first column without its last run, by number of runs."""

BLOCKS = (
    "+-++++--- ++-+++--- -+++++--- ---+-++++ ---++-+++ ----+++++ +++---+-+ +++---++- +++----++",
    "-+---+--+ --++--+-- +---+--+- --+-+---+ +----++-- -+-+---+- --+--+-+- +--+----+ -+--+-+--",
    "++-+-++-+ -++++-++- +-+-++-++ +-+++-+-+ ++--++++- -+++-+-++ +-++-+++- ++-++--++ -++-+++-+",
)
"""The blocks A, B and C of the design of 28 runs, each row by row."""

SIZES = (12, 20, 24, 28, 36, 44, 48)
"""The available numbers of runs."""


def plackett_burman(count: int, runs: int | None = None) -> Floats:
    """Return points of `count` factors, shape (runs, count), of -1 and 1. Raises UsageError for an unknown design."""
    if count < 2 or count >= SIZES[-1]:
        raise UsageError(f"Plackett-Burman designs have 2 to {SIZES[-1] - 1} factors, not {count}.")
    if runs is None:
        runs = next(size for size in SIZES if size > count)
    if runs not in SIZES:
        regular = " For 8, 16 and 32 runs use becalm design factorial --runs N." if runs in (8, 16, 32) else ""
        raise UsageError(f"Plackett-Burman designs have {', '.join(map(str, SIZES))} runs, not {runs}.{regular}")
    if runs <= count:
        raise UsageError(
            f"{runs} runs can distinguish at most {runs - 1} factors, not {count}. Leave out --runs, or take more runs."
        )
    low = -np.ones((1, runs - 1))
    return np.asarray(np.vstack([_upper(runs), low])[:, :count])


def _upper(runs: int) -> Floats:
    """Return all runs but the last."""
    if runs == 28:
        a, b, c = (np.array([_signs(row) for row in block.split()]) for block in BLOCKS)
        return np.block([[a, b, c], [c, a, b], [b, c, a]])
    first = _signs(COLUMNS[runs])
    return np.stack([np.roll(first, place) for place in range(runs - 1)], axis=1)


def _signs(text: str) -> Floats:
    return np.array([1.0 if sign == "+" else -1.0 for sign in text])


def partial_aliasing(points: Floats) -> float:
    """Return the largest part of an interaction of two factors in the effect of another factor: 0 none, 1 all of it."""
    count = points.shape[1]
    if count < 3:
        return 0.0
    pairs = np.stack([points[:, first] * points[:, second] for first, second in combinations(range(count), 2)], axis=1)
    return float(np.abs(points.T @ pairs).max() / len(points))
