"""Effects of a two-level design, and which of them stand out where no run is left for the error.

Lenth 1989 (Technometrics 31:469): most effects of a factorial are nothing, and their median tells the noise.

Public: Effect, Effects, effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import ndtri, stdtrit

from becalm.stats.arrays import Floats, Ints
from becalm.stats.normal_scores import midranks

ROUNDING = 1e-9
"""Parts of one column in another that are none."""


@dataclass(frozen=True, slots=True)
class Effect:
    """`factors`: numbers of those it is of. `value`: from low to high, twice the coefficient. `score`: half-normal."""

    factors: tuple[int, ...]
    value: float
    sum_of_squares: float
    score: float


@dataclass(frozen=True, slots=True)
class Effects:
    """`error`: Lenth's pseudo standard error; effects above `margin` are real one by one, above `simultaneous` all
    together, at the level that was asked for. `partial` None: every two effects are aliased wholly or not at all; else
    there are those of factors alone, and it is the largest part of an interaction of two in one of them."""

    found: tuple[Effect, ...]
    error: float
    margin: float
    simultaneous: float
    partial: float | None = None


def effects(points: Floats, y: Floats, level: float = 0.05, blocks: Ints | None = None) -> Effects | None:
    """Return all effects that a balanced two-level design can tell apart, the shortest of each alias group; the largest
    first.

    `points`, shape (n, factors), of -1 and 1, each combination equally often; None for another design. `blocks`: of
    each run; a column that cannot be told from them is not an effect. Where interactions are partly aliased, as in
    Plackett and Burman's designs, there are the effects of factors, of which each holds a part of interactions.
    """
    if not len(points) or not (np.abs(points) == 1).all() or len(y) != len(points):
        return None
    told = _Told(points, np.zeros(len(y), np.int64) if blocks is None else blocks)
    found: list[tuple[tuple[int, ...], float, float]] = []
    parts = _parts_of_pairs(points)
    partial = float(parts.max(initial=0.0))
    for size in range(1, points.shape[1] + 1):
        if size == 2 and ((parts > ROUNDING) & (parts < 1 - ROUNDING)).any():
            return _judged(found, level, partial)
        added: list[tuple[tuple[int, ...], float, float]] = []
        for some in combinations(range(points.shape[1]), size):
            if told.all:
                break
            column = points[:, some].prod(axis=1)
            new = told.add(column)
            if new is None:
                # Among interactions: what is of fewer factors stays.
                return None if size == 1 else _judged(found, level, partial if size == 2 else None)
            if new:
                value = 2 * float(column @ y) / len(y)
                added.append((some, value, len(y) * value**2 / 4))
        found += added
    return _judged(found, level, None)


class _Told:
    """Columns of effects that are told apart, each orthogonal to the blocks and all others."""

    def __init__(self, points: Floats, blocks: Ints) -> None:
        _, cells = np.unique(points, axis=0, return_inverse=True)
        _, self._blocks, self._sizes = np.unique(blocks, return_inverse=True, return_counts=True)
        cells = np.ravel(cells)
        # Of blocks that share no combination each leaves one constant that is no effect (Searle 1987, 5.3).
        apart = np.arange(len(self._sizes))
        for cell in range(cells.max() + 1):
            together = np.unique(apart[self._blocks[cells == cell]])
            apart[np.isin(apart, together)] = together[0]
        self._most = int(cells.max()) + 1 - len(np.unique(apart))
        self._columns = np.empty((self._most, len(blocks)))
        self._count = 0

    @property
    def all(self) -> bool:
        """Whether there cannot be another one."""
        return self._count == self._most

    def add(self, column: Floats) -> bool | None:
        """Add a column and return whether it is new; None where it is neither new nor one of the present ones."""
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
    """Return the parts of each interaction of two factors in the effect of each other factor, shape (factors,
    pairs)."""
    pairs = [points[:, one] * points[:, other] for one, other in combinations(range(points.shape[1]), 2)]
    return np.abs(points.T @ np.array(pairs).reshape(len(pairs), len(points)).T) / len(points)


def _judged(
    found: Sequence[tuple[tuple[int, ...], float, float]], level: float, partial: float | None
) -> Effects | None:
    """Return effects with Lenth's margins; None for too few effects."""
    if len(found) < 3:
        return None
    sizes = np.array([abs(value) for _, value, _ in found])
    first = 1.5 * float(np.median(sizes))
    small = sizes[sizes < 2.5 * first]
    error = 1.5 * float(np.median(small)) if len(small) else 0.0
    freedom, count = len(found) / 3, len(found)
    together = (1 + (1 - level) ** (1 / count)) / 2
    scores = ndtri(0.5 + 0.5 * (midranks(sizes) - 0.5) / count)
    made = [Effect(some, value, squares, float(at)) for (some, value, squares), at in zip(found, scores, strict=True)]
    return Effects(
        tuple(sorted(made, key=lambda each: -abs(each.value))),
        error,
        error * float(stdtrit(freedom, 1 - level / 2)),
        error * float(stdtrit(freedom, together)),
        partial,
    )


def named(effect: Effect, names: Sequence[str]) -> str:
    """Return an effect in the names of the factors."""
    return ":".join(names[factor] for factor in effect.factors)
