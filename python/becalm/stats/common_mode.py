"""What all benchmarks of a suite do at once from sitting to sitting: the machine, not the programs.

y_it = level_i + c_it + e_it, where c_i moves by lambda_i (m_t - m_{t-1}): the machine's common movement m, to which
benchmarks answer more or less. m moves by the weighted median of what is left of them, so that what fewer than half of
them do has no say. lambda_i is a ridge regression of differences over `LAG` sittings on those of m, around 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from becalm.stats.arrays import Floats, median_of
from becalm.stats.step_scan import EVERY, YOUNG, Scan

SUITE = 8
"""Benchmarks from which on what they have in common is told from what one of them does."""

LAG = 5
"""Sittings from one value to the next of the regression: far enough that the machine moved more than its noise."""

REMEMBERED = 240
SCATTER = 0.3
"""Standard deviation of how benchmarks answer to their machine; some are bound by memory, others are not."""

WINSOR = 2.5

HEAVIEST = 3.0
"""Times the usual weight that one benchmark has at most: one that scatters little by chance would draw what is in
common to itself, which makes it scatter less, until it alone is the machine."""


@dataclass(slots=True)
class CommonMode:
    """The common movement so far. `now`: m; of each benchmark its answer, its share c of m, and past (m, y)."""

    columns: int
    now: float = 0.0
    _rows: int = 0
    _answer: list[float] = field(default_factory=list)
    _share: list[float] = field(default_factory=list)
    _last: list[float] = field(default_factory=list)
    _past: list[list[tuple[float, float]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._answer = [1.0] * self.columns
        self._share = [0.0] * self.columns
        self._last = [0.0] * self.columns
        self._past = [[] for _ in range(self.columns)]

    def share(self, column: int) -> float:
        """What of a benchmark's newest value the machine did."""
        return self._share[column]

    def take(self, row: Floats, suite: Sequence[Scan], there: Sequence[int]) -> None:
        """One more sitting of the benchmarks `there`, shape (columns,); `suite` has their values before it."""
        moves = []
        for i in there:
            level = suite[i].level()
            if not math.isnan(level):
                expected = level + self._share[i] + self._answer[i] * (self.now - self._last[i])
                known = suite[i].white > 0 and len(suite[i].values) >= YOUNG
                weight = self._answer[i] / suite[i].white if known else 0.0
                moves.append(((float(row[i]) - expected) / self._answer[i], weight))
        if len(moves) >= SUITE:
            self.now += weighted_median(moves)
        self._rows += 1
        for i in there:
            self._past[i].append((self.now, float(row[i])))
            if self._rows % EVERY == 0 and len(self._past[i]) > 4 * LAG:
                self._answer[i], suite[i].unsure = self._regressed(i, suite[i].white)
            if not suite[i].unsure and len(moves) >= SUITE:
                suite[i].unsure = SCATTER
            self._share[i] += self._answer[i] * (self.now - self._last[i])
            self._last[i] = self.now

    def _regressed(self, column: int, white: float) -> tuple[float, float]:
        """Answer of a benchmark and its standard error."""
        past = np.array(self._past[column][-REMEMBERED - LAG :])
        if not white > 0:
            return 1.0, SCATTER
        machine, own = (past[LAG:] - past[:-LAG]).T
        # A benchmark's own step is no answer: what is far from the line counts less.
        beside = own - machine * self._answer[column]
        reach = WINSOR * max(white * math.sqrt(2), median_of(np.abs(beside)) * 1.4826)
        own = machine * self._answer[column] + np.clip(beside, -reach, reach)
        # Differences over LAG sittings overlap: so many of them tell as much as one.
        ridge = LAG * 2 * white**2 / SCATTER**2
        told = float(machine @ machine) + ridge
        return float(np.clip((machine @ own + ridge) / told, 0.3, 3.0)), SCATTER * math.sqrt(ridge / told)


def weighted_median(pairs: list[tuple[float, float]]) -> float:
    """The median of (value, weight); values without a weight get the usual one, and none has many times that."""
    known = sorted(weight for _, weight in pairs if weight)
    usual = known[len(known) // 2] if known else 1.0
    ordered = sorted((value, min(weight or usual, HEAVIEST * usual)) for value, weight in pairs)
    half, passed = sum(weight for _, weight in ordered) / 2, 0.0
    for value, weight in ordered:
        passed += weight
        if passed >= half:
            return value
    return ordered[-1][0]
