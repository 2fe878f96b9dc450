"""Effects of a two-level design, and which of them stand out where no run is left for the error.

Lenth 1989 (Technometrics 31:469): most effects of a factorial design are zero, so their median estimates the noise.

Public: Effect, Effects, effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import msgspec
import numpy as np
from scipy.special import ndtri, stdtrit

from becalm.stats.arrays import Floats, Ints
from becalm.stats.normal_scores import midranks

ROUNDING = 1e-9
"""Overlap of two columns below which it counts as rounding."""


class Effect(msgspec.Struct, frozen=True):
    """The effect of one factor, or of the interaction of several.

    `factors`: their numbers. `value`: the change from low to high, twice the coefficient. `score`: the half-normal
    score."""

    factors: tuple[int, ...]
    value: float
    sum_of_squares: float
    score: float


class Effects(msgspec.Struct, frozen=True):
    """The effects of a design, largest first.

    `error`: Lenth's pseudo standard error; effects above `margin` are real one by one, above `simultaneous` all
    together, at the requested level. `partial`: None if any two effects are aliased completely or not at all; otherwise
    `effects` are those of single factors, and this is the largest share of a two-factor interaction in one of them."""

    effects: tuple[Effect, ...]
    error: float
    margin: float
    simultaneous: float
    partial: float | None = None


def effects(points: Floats, y: Floats, level: float = 0.05, blocks: Ints | None = None) -> Effects | None:
    """Return the effects that a balanced two-level design can tell apart; of each alias group, the shortest.

    `points`, shape (n, factors), of -1 and 1, each combination equally often. `y`: the response, shape (n,). `blocks`:
    the block of each run, shape (n,); a column that cannot be told from blocks is no effect. Where interactions are
    partly aliased, as in Plackett and Burman's designs, only the effects of single factors are returned, each of which
    contains a share of interactions. None for a design of another kind, or with too few effects.
    """
    if not len(points) or not (np.abs(points) == 1).all() or len(y) != len(points):
        return None
    distinct = _DistinctColumns(points, np.zeros(len(y), np.int64) if blocks is None else blocks)
    estimates: list[tuple[tuple[int, ...], float, float]] = []
    parts = _parts_of_pairs(points)
    partial = float(parts.max(initial=0.0))
    for size in range(1, points.shape[1] + 1):
        if size == 2 and ((parts > ROUNDING) & (parts < 1 - ROUNDING)).any():
            return _judged(estimates, level, partial)
        added: list[tuple[tuple[int, ...], float, float]] = []
        for some in combinations(range(points.shape[1]), size):
            if distinct.full:
                break
            column = points[:, some].prod(axis=1)
            new = distinct.add(column)
            if new is None:
                # Among partly aliased interactions, the effects of fewer factors stay.
                return None if size == 1 else _judged(estimates, level, partial if size == 2 else None)
            if new:
                value = 2 * float(column @ y) / len(y)
                added.append((some, value, len(y) * value**2 / 4))
        estimates += added
    return _judged(estimates, level, None)


class _DistinctColumns:
    """Columns of effects that can be told apart, each orthogonal to the blocks and to all others."""

    def __init__(self, points: Floats, blocks: Ints) -> None:
        _, cells = np.unique(points, axis=0, return_inverse=True)
        _, self._blocks, self._sizes = np.unique(blocks, return_inverse=True, return_counts=True)
        cells = np.ravel(cells)
        # Blocks that share no combination with the others add a constant that is no effect (Searle 1987, 5.3).
        apart = np.arange(len(self._sizes))
        for cell in range(cells.max() + 1):
            together = np.unique(apart[self._blocks[cells == cell]])
            apart[np.isin(apart, together)] = together[0]
        self._most = int(cells.max()) + 1 - len(np.unique(apart))
        self._columns = np.empty((self._most, len(blocks)))
        self._count = 0

    @property
    def full(self) -> bool:
        """Whether no further column is possible."""
        return self._count == self._most

    def add(self, column: Floats) -> bool | None:
        """Add a column and return whether it is new; None where it partly overlaps with the present ones."""
        means = np.bincount(self._blocks, column) / self._sizes
        shares = np.abs(self._columns[: self._count] @ column) / len(column)
        shares = np.append(shares, means**2 @ self._sizes / len(column))
        if (shares > 1 - ROUNDING).any():
            return False
        if (shares > ROUNDING).any():
            return None
        self._columns[self._count] = column
        self._count += 1
        return True


def _parts_of_pairs(points: Floats) -> Floats:
    """Return the share of each two-factor interaction in the effect of each other factor, shape (factors, pairs)."""
    pairs = [points[:, first] * points[:, other] for first, other in combinations(range(points.shape[1]), 2)]
    return np.abs(points.T @ np.array(pairs).reshape(len(pairs), len(points)).T) / len(points)


def _judged(
    estimates: Sequence[tuple[tuple[int, ...], float, float]], level: float, partial: float | None
) -> Effects | None:
    """Return the effects with Lenth's margins; None for fewer than three effects."""
    if len(estimates) < 3:
        return None
    sizes = np.array([abs(value) for _, value, _ in estimates])
    first = 1.5 * float(np.median(sizes))
    small = sizes[sizes < 2.5 * first]
    error = 1.5 * float(np.median(small)) if len(small) else 0.0
    freedom, count = len(estimates) / 3, len(estimates)
    together = (1 + (1 - level) ** (1 / count)) / 2
    scores = ndtri(0.5 + 0.5 * (midranks(sizes) - 0.5) / count)
    rows = [
        Effect(some, value, squares, float(at)) for (some, value, squares), at in zip(estimates, scores, strict=True)
    ]
    return Effects(
        tuple(sorted(rows, key=lambda effect: -abs(effect.value))),
        error,
        error * float(stdtrit(freedom, 1 - level / 2)),
        error * float(stdtrit(freedom, together)),
        partial,
    )


def named(effect: Effect, names: Sequence[str]) -> str:
    """Return an effect as the names of its factors, separated by colons."""
    return ":".join(names[factor] for factor in effect.factors)
