"""One stray session near a step: is the commit right, and does the interval cover the truth? Simulated, no data needed.

100 series of each kind, alone and in a suite of ten benchmarks: noise of 0.6 %, a step of -12 %, and one session of the
series that strays by -50 to +50 %. "Near a step": 60 commits, the step at the 30th, the stray session up to 20 before
or after it. "Young": 40 commits, the step at the 12th, the stray session two to eight before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from becalm.stats.arrays import Floats
from becalm.stats.change_points import change_points
from replay_rows.figures import Figure, Table, missing, share, text
from replay_rows.peers import Rule, rules

NOISE, SIZE, STRAYS = 0.006, math.log(0.88), (-0.5, -0.2, -0.1, 0.1, 0.2, 0.5)
MEASURES = ("commit right, near a step", "interval covers", "commit right, young", "interval covers (young)")


@dataclass(frozen=True)
class Stepped:
    """Logarithms, shape (commits, benchmarks), of which the first has a step at `at`."""

    values: Floats
    at: int


Kind = Callable[[int, int], Iterator[Stepped]]
"""A function from numbers of benchmarks and of series to series."""


def near(columns: int, count: int) -> Iterator[Stepped]:
    """Yield series with a stray session within 20 of a step."""
    for seed in range(count):
        rng = np.random.default_rng([seed, columns, 0])
        off = int(rng.integers(2, 21))
        yield _series(rng, columns, 60, 30, 30 + off if rng.random() < 0.5 else 30 - off)


def young(columns: int, count: int) -> Iterator[Stepped]:
    """Yield young series with a stray session shortly before a step."""
    for seed in range(count):
        rng = np.random.default_rng([seed, columns, 1])
        yield _series(rng, columns, 40, 12, 12 - int(rng.integers(2, 9)))


def _series(rng: np.random.Generator, columns: int, commits: int, at: int, stray: int) -> Stepped:
    values = NOISE * rng.standard_normal((commits, columns))
    values[at:, 0] += SIZE
    values[stray, 0] += math.log1p(float(rng.choice(STRAYS)))
    return Stepped(values, at)


def replay(data: Path, quick: bool) -> list[Table]:
    """Return the shares of right commits, and of intervals that cover the step."""
    count = 10 if quick else 100
    rows: list[tuple[str, tuple[Figure, ...]]] = [
        (name, (*_becalm(near, columns, count), *_becalm(young, columns, count)))
        for name, columns in (("becalm, one benchmark", 1), ("becalm, in a suite of ten", 10))
    ]
    for name, rule in rules():
        cells = missing(MEASURES)
        if rule is not None:
            cells = (_peer(near, rule, count), text("none given"), _peer(young, rule, count), text("none given"))
        rows.append((name, cells))
    return [Table("A step of -12 % with one stray session nearby", "simulated", MEASURES, tuple(rows))]


def _becalm(kind: Kind, columns: int, count: int) -> tuple[Figure, Figure]:
    right = covered = 0
    for series in kind(columns, count):
        changes = [change for change in change_points(series.values).changes if change.series == 0]
        right += [change.at for change in changes] == [series.at]
        covered += any(change.low <= SIZE <= change.high for change in changes if abs(change.at - series.at) <= 3)
    return share(right, count), share(covered, count)


def _peer(kind: Kind, rule: Rule, count: int) -> Figure:
    right = sum(rule(series.values[:, 0]) == [series.at] for series in kind(1, count))
    return share(right, count)
