"""The noun Objective: the quantity that a search minimises, as a row of a table.

A row has functions for the value of one loop of runs (`value`), for that of several loops (`pooled`, `typical`), and
for the comparison of two arms (`ratio`), and its words. A search and its confirmation use the same row, so that the
confirmed quantity is the one that was searched for. A further objective is a further row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from becalm.errors import UsageError
from becalm.nouns.domain import Scale
from becalm.stats.arrays import Floats
from becalm.stats.spread import (
    CV,
    MAD,
    Estimator,
    Ratio,
    log_spreads,
    loop_spread,
    loop_spreads,
    mean_ratio,
    mean_time,
    spread,
    spread_ratio,
)


class Objective(msgspec.Struct, frozen=True):
    """An objective. `name`: its name in options and studies; `minimizes`: its goal, spread or time.

    - `value`: the value of one loop: wall times in ns of shape (runs,), at least `fewest` runs; smaller is better.
    - `values`: the values of several loops; `pooled`: the joint value of these values.
    - `typical`: the value of several loops, with its interval at confidence 1 - alpha.
    - `by_loop`: a value for each loop.
    - `ratio`: the ratio of first to second from paired loops, above 1 if the second is better.
    - `scale`: the scale on which effects of settings add.
    - `efficiency`: the statistical efficiency, relative to the best estimator.
    - `margin`: the loss below which a setting is usually dropped.
    - `what`: the objective's name in help; `definition`: its definition in the notes of reports.
    """

    name: str
    minimizes: str
    what: str
    definition: str
    unit: str
    value: Callable[[Floats], float]
    values: Callable[[Sequence[Floats]], Sequence[float]]
    pooled: Callable[[Sequence[float]], float]
    typical: Callable[[Sequence[Floats], float], tuple[float, float, float]]
    by_loop: Callable[[Sequence[Floats]], tuple[float, ...]]
    ratio: Callable[[Sequence[Floats], Sequence[Floats], float], Ratio]
    fewest: int = 2
    efficiency: float = 1.0
    margin: float = 0.25
    scale: Scale = Scale.LOG


def _root_mean_square(values: Sequence[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _spread(name: str, estimator: Estimator, what: str, definition: str) -> Objective:
    """Return the objective that minimises the spread from run to run, a fraction.

    Variances of loops add, so loops are pooled by their root mean square.
    """

    def value(loop: Floats) -> float:
        return loop_spread(loop, estimator)

    def values(loops: Sequence[Floats]) -> Sequence[float]:
        return loop_spreads(loops, estimator)

    def typical(loops: Sequence[Floats], alpha: float) -> tuple[float, float, float]:
        return spread(loops, estimator, alpha)

    def by_loop(loops: Sequence[Floats]) -> tuple[float, ...]:
        return tuple(math.exp(value) for value in log_spreads(loops, estimator).tolist())

    def ratio(first: Sequence[Floats], second: Sequence[Floats], alpha: float) -> Ratio:
        return spread_ratio(first, second, estimator, alpha)

    return Objective(
        name, "spread", what, definition, "fraction", value, values, _root_mean_square, typical, by_loop, ratio,
        efficiency=estimator.efficiency,
    )  # fmt: skip


TIME = Objective(
    name="time",
    minimizes="time",
    what="mean time of a run",
    definition="mean time of",
    unit="ns",
    value=lambda loop: float(loop.mean()),
    values=lambda loops: [float(loop.mean()) for loop in loops],
    pooled=lambda values: float(np.mean(values)),
    typical=mean_time,
    by_loop=lambda loops: tuple(float(loop.mean()) for loop in loops),
    ratio=mean_ratio,
    fewest=1,
    margin=0.01,
)

TABLE: tuple[Objective, ...] = (
    _spread("cv", CV, "coefficient of variation", "coefficient of variation, the standard deviation over the mean of"),
    _spread(
        "mad", MAD, "median absolute deviation over median", "1.4826 median absolute deviations over the median of"
    ),
    TIME,
)
"""The objectives; the first row of each goal is the default."""


def find(name: str) -> Objective:
    """Return the objective of a name. Raises UsageError with the names of all."""
    for row in TABLE:
        if row.name == name:
            return row
    raise UsageError(f"There is no objective {name!r}. There are {', '.join(row.name for row in TABLE)}.")


def goals() -> tuple[str, ...]:
    """Return the goals of minimising, in the order of the table."""
    return tuple(dict.fromkeys(row.minimizes for row in TABLE))


def names(minimizes: str) -> tuple[str, ...]:
    """Return the names of the objectives of one goal; the first is the default."""
    return tuple(row.name for row in TABLE if row.minimizes == minimizes)
