"""The elimination of programs that cannot be the fastest: sequential, in randomly ordered rounds.

A program is eliminated when another one is shown to be faster. All pairs are tested at looks whose times do not depend
on the data, each at level alpha / (k - 1) over all of them. The truly fastest of k programs is in k - 1 pairs, so it is
eliminated with a probability of alpha / 2 at most (Bonferroni; Hsu 1984, Ann. Stat. 12:1136, for comparisons with the
best), and among identical programs one is called the fastest in alpha of the studies at most. The order of elimination
is that of sequential selection (Paulson 1964, Ann. Math. Stat. 35:174), with the tests of `compare`.

Two tests share the level of a pair:

- the score of `becalm.stats.paired`, under no assumption but the random order, with `ErrorSpending`;
- for the first FEW rounds, in which n coins show nothing below 2^(1 - n) however large a difference is: Student's t of
  the differences. It assumes that these are about normal, and uses the larger of the pair's own variance and of that
  of all programs together, so that differences that agree by chance prove nothing. Its level is spent look by look.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from becalm.stats.arrays import Floats, Positions, level, median_of, medians_of
from becalm.stats.normal import ndtr
from becalm.stats.paired import PairedDifferences, PairedScore, locate, standard_error, standardised
from becalm.stats.power import last_critical, pairs_for
from becalm.stats.sequential import ErrorSpending
from becalm.stats.student import stdtrit

FEW = 12
"""The number of rounds up to which Student's t is tested, too."""

GROWTH = 1.25
"""The growth of the number of rounds between two looks."""


class Rival(msgspec.Struct, frozen=True):
    """A program that may still be the fastest, compared with the one that seems to be.

    `estimate`: log(rival / fastest); `rounds`: rounds that would tell them apart with a probability of 80 %; `most`:
    the largest difference that they may have.
    """

    index: int
    estimate: float
    standard_error: float
    rounds: int
    most: float


class Elimination:
    """A sequence of looks at growing rounds of k programs, with the programs eliminated so far."""

    def __init__(self, programs: int, alpha: float) -> None:
        self.programs = programs
        self.alpha = level(alpha) / max(1, programs - 1)
        self.slower = np.zeros((programs, programs), dtype=bool)
        """Whether program a was shown to be slower than b, at `slower[a, b]`."""
        self._spending = ErrorSpending(self.alpha / 2)
        self._fraction = 0.0
        self._rounds = 0

    def due(self, rounds: int) -> bool:
        """Return whether there are enough new rounds for another look."""
        return rounds >= max(self._rounds + 1, math.ceil(self._rounds * GROWTH))

    def look(
        self, log_wall: Sequence[Floats], position: Sequence[Positions], active: Sequence[int], fraction: float
    ) -> None:
        """Test all pairs of `active` programs, on all of their rounds. `fraction`: share of the budget used."""
        rounds = len(log_wall[active[0]])
        if rounds <= self._rounds or len(active) < 2:
            return
        self._rounds = rounds
        # Information is counted in rounds: noise that changes meanwhile only shifts a look a little.
        critical = self._spending.look(fraction, float(rounds))
        student = self._student(rounds, fraction)
        shared = _shared_variance([log_wall[index] for index in active]) if rounds > 1 else math.inf
        for place, first in enumerate(active):
            for second in active[place + 1 :]:
                difference = log_wall[second] - log_wall[first]
                sign = 0
                if math.isfinite(critical) and 2 * float(ndtr(-critical)) >= 2.0 ** (1 - rounds):
                    pairs = PairedDifferences.of(log_wall[first], log_wall[second], position[first], position[second])
                    z = standardised(pairs, 0.0)
                    sign = int(abs(z) >= critical) * (1 if z > 0 else -1)
                if sign == 0 and math.isfinite(student):
                    variance = max(shared, float(difference.var(ddof=1)))
                    mean = float(difference.mean())
                    sign = int(abs(mean) > student * math.sqrt(variance / rounds)) * (1 if mean > 0 else -1)
                if sign:
                    slow, fast = (second, first) if sign > 0 else (first, second)
                    self.slower[slow, fast] = True

    def _student(self, rounds: int, fraction: float) -> float:
        """Return the critical value of Student's t at this look; infinity when it is not tested."""
        now = min(max(fraction, 0.0), 1.0)
        spent, self._fraction = self.alpha / 2 * (now**2 - self._fraction**2), max(now, self._fraction)
        if not 3 <= rounds <= FEW or spent <= 1e-9:
            return math.inf
        return float(stdtrit(rounds - 1, 1 - spent / 2))

    def out(self, index: int) -> bool:
        """Return whether a program cannot be the fastest."""
        return bool(self.slower[index].any())

    def ranks(self, index: int) -> tuple[int, int]:
        """Return the first and last place that a program may have, from 1 on, at 1 - alpha for each program by
        itself."""
        return 1 + int(self.slower[index].sum()), self.programs - int(self.slower[:, index].sum())

    def order(self, log_wall: Sequence[Floats]) -> list[int]:
        """Return all programs, those that may be the fastest first, by their median difference from the first of
        these."""
        remaining = [index for index in range(self.programs) if not self.out(index)] or list(range(self.programs))
        shared = min(len(log_wall[index]) for index in remaining)
        rounds = np.stack([log_wall[index][:shared] for index in remaining])
        relative_times = medians_of(rounds - rounds.mean(axis=0))
        first = remaining[int(np.argmin(relative_times))]

        def behind(index: int) -> float:
            common = min(len(log_wall[index]), len(log_wall[first]))
            return median_of(log_wall[index][:common] - log_wall[first][:common])

        others = (index for index in range(self.programs) if index != first)
        return [first, *sorted(others, key=lambda index: (index not in remaining, behind(index)))]

    def rivals(self, log_wall: Sequence[Floats], position: Sequence[Positions]) -> list[Rival]:
        """Return the programs that may still be the fastest, except the one that seems to be, in order."""
        first, *others = self.order(log_wall)
        result = []
        for index in (other for other in others if not self.out(other)):
            common = min(len(log_wall[index]), len(log_wall[first]))
            if common < 2:
                continue
            pairs = PairedDifferences.of(
                *(log_wall[program][:common] for program in (first, index)),
                *(position[program][:common] for program in (first, index)),
            )
            estimate = locate(pairs)
            error = standard_error(PairedScore(pairs, estimate), estimate)
            critical = last_critical(self.alpha / 2)
            if not (math.isfinite(error) and error > 0.0):
                continue
            needed = pairs_for(max(abs(estimate), error), error, common, critical)
            result.append(Rival(index, estimate, error, needed, abs(estimate) + critical * error))
        return result


def _shared_variance(log_wall: Sequence[Floats]) -> float:
    """Return the variance of a difference of two programs if all programs have the same: from residuals of rounds and
    programs."""
    y = np.stack(log_wall)
    programs, rounds = y.shape
    residuals = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
    freedom = (programs - 1) * (rounds - 1)
    return float(2 * (residuals**2).sum() / freedom)
