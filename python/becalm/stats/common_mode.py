"""The common movement of all benchmarks of a suite from session to session: the machine, not the programs.

y_it = level_i + c_it + e_it, where c_i moves as lambda_i m_t: the machine's common movement m, to which benchmarks
answer more or less. Since lambda becomes known only by and by, c_it = b_it + lambda_i (m_t - r_t) with the median r of
the latest m, and b moves by lambda_i (r_t - r_{t-1}): a session in which all stray leaves nothing behind. m moves by
the weighted median of what is left of them, so that what fewer than half of them do has no say. lambda_i is a ridge
regression of differences over `LAG` sessions on those of m, around 1.
"""

from __future__ import annotations

import math

import numpy as np

from becalm.stats.arrays import Floats, Ints, clipped, median_of
from becalm.stats.step_scan import RECENT, Scan

SUITE = 8
"""Benchmarks from which on what they have in common is told from what one of them does."""

LAG = 5
"""Sessions from one value to the next of the regression: far enough that the machine moved more than its noise."""

YOUNG = 24
"""Values from which on a benchmark's scatter says how much it weighs."""

EVERY = 4
"""Sessions after which answers are computed anew."""

REMEMBERED = 240
SCATTER = 0.3
"""Standard deviation of how benchmarks answer to their machine; some are bound by memory, others are not."""

WINSOR = 2.5

HEAVIEST = 3.0
"""Times the usual weight that one benchmark has at most: one that scatters little by chance would draw what is in
common to itself, which makes it scatter less, until it alone is the machine."""


class CommonMode:
    """The common movement so far.

    `now`: m. `share`: what of each benchmark's newest value the machine did, c, shape (columns,). `answer`: lambda.
    `base`, `last`: b, and r at each benchmark's newest value. `latest`: the newest m. `moves`, `values`: m and y of the
    past, shape (columns, room), of which the first `counts` are taken.
    """

    def __init__(self, columns: int) -> None:
        self.now, self.sessions = 0.0, 0
        self.answer, self.share = np.ones(columns), np.zeros(columns)
        self.base, self.last, self.latest = np.zeros(columns), np.zeros(columns), np.zeros(1)
        self.moves, self.values = np.zeros((columns, 64)), np.zeros((columns, 64))
        self.counts = np.zeros(columns, np.int64)

    def take(self, row: Floats, scan: Scan, there: Ints) -> None:
        """Take one more session of the benchmarks `there`, shape (columns,); `scan` has their values before it."""
        level = scan.level()[there]
        answer = self.answer[there]
        expected = level + self.base[there] + answer * (self.now - self.last[there])
        known = (scan.white[there] > 0) & (scan.counts[there] >= YOUNG)
        weights = np.where(known, answer / np.where(known, scan.white[there], 1.0), 0.0)
        left = (row[there] - expected) / answer
        able = ~np.isnan(left)
        together = int(able.sum()) >= SUITE
        if together:
            self.now += weighted_median(list(zip(left[able].tolist(), weights[able].tolist(), strict=True)))
        self.sessions += 1
        self.latest = np.append(self.latest, self.now)[-RECENT:]
        usual = float(np.median(self.latest))
        at = self.counts[there]
        if int(at.max(initial=0)) >= self.moves.shape[1]:
            self.moves, self.values = (np.hstack([table, np.zeros_like(table)]) for table in (self.moves, self.values))
        self.moves[there, at], self.values[there, at] = self.now, row[there]
        self.counts[there] += 1
        if self.sessions % EVERY == 0:
            for column in there[self.counts[there] > 4 * LAG]:
                self.answer[column], scan.unsure[column] = self._regressed(int(column), float(scan.white[column]))
        if together:
            scan.unsure[there] = np.where(scan.unsure[there] > 0, scan.unsure[there], SCATTER)
        self.base[there] += self.answer[there] * (usual - self.last[there])
        self.share[there] = self.base[there] + self.answer[there] * (self.now - usual)
        self.last[there] = usual

    def _regressed(self, column: int, white: float) -> tuple[float, float]:
        """Return the answer of a benchmark and its standard error."""
        if not white > 0:
            return 1.0, SCATTER
        part = slice(max(0, int(self.counts[column]) - REMEMBERED - LAG), int(self.counts[column]))
        moves, values = self.moves[column, part], self.values[column, part]
        machine, own = moves[LAG:] - moves[:-LAG], values[LAG:] - values[:-LAG]
        # A benchmark's own step is no answer: what is far from the line counts less.
        rest = own - machine * self.answer[column]
        reach = WINSOR * max(white * math.sqrt(2), median_of(np.abs(rest)) * 1.4826)
        own = machine * self.answer[column] + clipped(rest, -reach, reach)
        # Differences over LAG sessions overlap: so many of them tell as much as one.
        ridge = LAG * 2 * white**2 / SCATTER**2
        total = float(machine @ machine) + ridge
        answer = (float(machine @ own) + ridge) / total
        return min(3.0, max(0.3, answer)), SCATTER * math.sqrt(ridge / total)


def weighted_median(pairs: list[tuple[float, float]]) -> float:
    """Return the median of (value, weight); values without a weight get the usual one, and none has many times that."""
    known = sorted(weight for _, weight in pairs if weight)
    usual = known[len(known) // 2] if known else 1.0
    ordered = sorted((value, min(weight or usual, HEAVIEST * usual)) for value, weight in pairs)
    half, passed = sum(weight for _, weight in ordered) / 2, 0.0
    for value, weight in ordered:
        passed += weight
        if passed >= half:
            return value
    return ordered[-1][0]
