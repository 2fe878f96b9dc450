"""The common movement of all benchmarks of a suite from session to session, caused by the machine, not the programs.

y_it = level_i + c_it + e_it, where c_i moves as lambda_i m_t: the machine's common movement m, to which benchmarks
respond more or less. Since lambda becomes known only gradually, c_it = b_it + lambda_i (m_t - r_t), where r is the
median of the latest m, and b moves by lambda_i (r_t - r_{t-1}). So a session in which all stray has no later effect. m
moves by the weighted median of the benchmarks' remainders, so that movements of fewer than half of them have no
influence. lambda_i is a ridge regression of differences over `LAG` sessions on those of m, around 1.
"""

from __future__ import annotations

import math

import numpy as np

from becalm.stats.arrays import Floats, Ints, clip, median_of
from becalm.stats.step_scan import RECENT, Scan

SUITE = 8
"""The fewest benchmarks whose common movement can be told from that of a single one."""

LAG = 5
"""The number of sessions between two values of the regression: far enough that the machine moved more than its
noise."""

YOUNG = 24
"""The fewest values of a benchmark whose scatter determines its weight."""

EVERY = 4
"""The number of sessions after which answers are computed anew."""

REMEMBERED = 240
SCATTER = 0.3
"""The standard deviation of benchmarks' answers to their machine; some are bound by memory, others are not."""

WINSOR = 2.5

HEAVIEST = 3.0
"""The largest weight of a benchmark, relative to the usual one. Without it a benchmark that scatters little by chance
would draw the common movement to itself, which makes it scatter less, until it alone is the machine."""


class CommonMode:
    """The common movement so far.

    - `now`: m
    - `share`: the machine's part of each benchmark's newest value, c, shape (columns,)
    - `answer`: lambda
    - `base`, `last`: b, and r at each benchmark's newest value
    - `latest`: the newest m
    - `moves`, `values`: m and y of the past, shape (columns, room), of which the first `counts` are used
    """

    def __init__(self, columns: int) -> None:
        self.now, self.sessions = 0.0, 0
        self.answer, self.share = np.ones(columns), np.zeros(columns)
        self.base, self.last, self.latest = np.zeros(columns), np.zeros(columns), np.zeros(1)
        self.moves, self.values = np.zeros((columns, 64)), np.zeros((columns, 64))
        self.counts = np.zeros(columns, np.int64)

    def take(self, row: Floats, scan: Scan, measured: Ints) -> None:
        """Add a session in which the benchmarks `measured` (indices) have values; `row` has shape (columns,).

        `scan` has the values of earlier sessions.
        """
        level = scan.level()[measured]
        answer = self.answer[measured]
        expected = level + self.base[measured] + answer * (self.now - self.last[measured])
        has_scatter = (scan.white[measured] > 0) & (scan.counts[measured] >= YOUNG)
        weights = np.where(has_scatter, answer / np.where(has_scatter, scan.white[measured], 1.0), 0.0)
        remainders = (row[measured] - expected) / answer
        finite = ~np.isnan(remainders)
        has_suite = int(finite.sum()) >= SUITE
        if has_suite:
            self.now += weighted_median(list(zip(remainders[finite].tolist(), weights[finite].tolist(), strict=True)))
        self.sessions += 1
        self.latest = np.append(self.latest, self.now)[-RECENT:]
        reference = float(np.median(self.latest))
        positions = self.counts[measured]
        if int(positions.max(initial=0)) >= self.moves.shape[1]:
            self.moves, self.values = (np.hstack([table, np.zeros_like(table)]) for table in (self.moves, self.values))
        self.moves[measured, positions], self.values[measured, positions] = self.now, row[measured]
        self.counts[measured] += 1
        if self.sessions % EVERY == 0:
            for column in measured[self.counts[measured] > 4 * LAG]:
                self.answer[column], scan.unsure[column] = self._regress(int(column), float(scan.white[column]))
        if has_suite:
            scan.unsure[measured] = np.where(scan.unsure[measured] > 0, scan.unsure[measured], SCATTER)
        self.base[measured] += self.answer[measured] * (reference - self.last[measured])
        self.share[measured] = self.base[measured] + self.answer[measured] * (self.now - reference)
        self.last[measured] = reference

    def _regress(self, column: int, white: float) -> tuple[float, float]:
        """Return the answer of a benchmark and its standard error."""
        if not white > 0:
            return 1.0, SCATTER
        window = slice(max(0, int(self.counts[column]) - REMEMBERED - LAG), int(self.counts[column]))
        moves, values = self.moves[column, window], self.values[column, window]
        machine, changes = moves[LAG:] - moves[:-LAG], values[LAG:] - values[:-LAG]
        # A step of the benchmark itself is not an answer: values far from the line count less.
        residuals = changes - machine * self.answer[column]
        bound = WINSOR * max(white * math.sqrt(2), median_of(np.abs(residuals)) * 1.4826)
        changes = machine * self.answer[column] + clip(residuals, -bound, bound)
        # Differences over LAG sessions overlap: LAG of them have the information of one.
        ridge = LAG * 2 * white**2 / SCATTER**2
        total = float(machine @ machine) + ridge
        answer = (float(machine @ changes) + ridge) / total
        return min(3.0, max(0.3, answer)), SCATTER * math.sqrt(ridge / total)


def weighted_median(pairs: list[tuple[float, float]]) -> float:
    """Return the median of (value, weight); a weight of 0 becomes the usual one, HEAVIEST times which is the most."""
    positive_weights = sorted(weight for _, weight in pairs if weight)
    usual_weight = positive_weights[len(positive_weights) // 2] if positive_weights else 1.0
    ordered = sorted((value, min(weight or usual_weight, HEAVIEST * usual_weight)) for value, weight in pairs)
    half, cumulative = sum(weight for _, weight in ordered) / 2, 0.0
    for value, weight in ordered:
        cumulative += weight
        if cumulative >= half:
            return value
    return ordered[-1][0]
