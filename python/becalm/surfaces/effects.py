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

from becalm.stats.arrays import Floats
from becalm.stats.normal_scores import midranks


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
    together, at the level that was asked for."""

    found: tuple[Effect, ...]
    error: float
    margin: float
    simultaneous: float


def effects(points: Floats, y: Floats, level: float = 0.05) -> Effects | None:
    """All effects that a balanced two-level design can tell apart, the shortest of each alias group; the largest first.

    `points`, shape (n, factors), of -1 and 1, each combination as often as the others that there are; None for another.
    """
    if not len(points) or not (np.abs(points) == 1).all() or len(y) != len(points):
        return None
    seen: list[Floats] = [np.ones(len(y))]
    found: list[tuple[tuple[int, ...], float, float]] = []
    cells = len(np.unique(points, axis=0))
    for size in range(1, points.shape[1] + 1):
        for some in combinations(range(points.shape[1]), size):
            if len(seen) == cells:
                break
            column = points[:, some].prod(axis=1)
            shares = np.array([abs(float(each @ column)) / len(y) for each in seen])
            if (shares > 1 - 1e-9).any():
                continue
            if (shares > 1e-9).any():
                return None
            seen.append(column)
            value = 2 * float(column @ y) / len(y)
            found.append((some, value, len(y) * value**2 / 4))
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
    )


def named(effect: Effect, names: Sequence[str]) -> str:
    """An effect in the names of the factors."""
    return ":".join(names[each] for each in effect.factors)
