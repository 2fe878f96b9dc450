"""The ranking of several programs, and which of them may be the fastest: a pure function of the history."""

from __future__ import annotations

import math
from collections.abc import Sequence

from becalm.analysis.compare import ESTIMATED, NEGLIGIBLE
from becalm.nouns.stopping_rule import StoppingRule
from becalm.plans.history import History
from becalm.results.compare import Place, Ranking
from becalm.stats.elimination import Elimination, Rival

LEAST = 3
"""The least number of programs to rank; for two, the comparison is enough."""

MOST = 64
"""The largest number of programs to rank: the number of pairs grows with its square."""


class SequentialRanking:
    """A sequence of looks at all pairs of programs, which can retire those that are not the fastest."""

    def __init__(self, names: Sequence[str], goal: StoppingRule, confidence: float, *, fastest: bool) -> None:
        self.names = tuple(names)
        self.goal = goal
        self.confidence = confidence
        self.fastest = fastest
        self.used = LEAST <= len(names) <= MOST
        self._looks = Elimination(len(names), 1 - confidence)

    def due(self, history: History) -> bool:
        """Return whether there are enough new rounds for another look."""
        return self.used and self._looks.due(history.rounds)

    def look(self, history: History) -> None:
        """Test all pairs that are still measured, and retire programs that cannot be the fastest."""
        if not self.used or history.rounds == 0:
            return
        pairs = history.pairs()
        self._looks.look(pairs.log_wall, pairs.position, history.active, self.goal.fraction(history))
        if self.fastest:
            history.retire([index for index in history.active if self._looks.out(index)])

    def known(self, history: History) -> bool:
        """Return whether the fastest is known, or the remaining programs differ by less than is worth measuring."""
        if not (self.used and self.fastest) or history.rounds == 0:
            return False
        if len(history.active) < 2:
            return True
        pairs = history.pairs()
        rivals = self._looks.rivals(pairs.log_wall, pairs.position)
        return len(rivals) == len(history.active) - 1 and all(rival.most <= NEGLIGIBLE for rival in rivals)

    def first(self, history: History) -> int:
        """Return the index of the program that looks fastest among those that may be the fastest."""
        return self._looks.order(history.pairs().log_wall)[0]

    def result(self, history: History) -> Ranking | None:
        """Return the programs in order, or None where there is nothing to rank."""
        if not self.used or history.rounds < 2:
            return None
        pairs = history.pairs()
        order = self._looks.order(pairs.log_wall)
        rivals = self._looks.rivals(pairs.log_wall, pairs.position)
        contenders = [index for index in order if not self._looks.out(index)]
        places = tuple(
            Place(self.names[index], *self._looks.ranks(index), len(pairs.log_wall[index])) for index in order
        )
        # Standard errors from a few rounds are small by chance, so no bound on the differences is reported.
        bounded = len(rivals) == len(contenders) - 1 and (history.rounds >= ESTIMATED or not rivals)
        within = max((rival.most for rival in rivals), default=0.0) if bounded else math.inf
        return Ranking(places, self.confidence, self._decides_ns(history, contenders, rivals), math.expm1(within))

    def _decides_ns(self, history: History, contenders: Sequence[int], rivals: Sequence[Rival]) -> int | None:
        """Return the total measuring time in ns that finds the fastest with a probability of 80 %, if the estimates
        hold."""
        if not contenders[1:] or len(rivals) < len(contenders) - 1 or history.rounds < ESTIMATED:
            return None
        needed = max(rival.rounds for rival in rivals)
        return math.ceil(history.elapsed_ns + max(1, needed - history.rounds) * history.round_ns)
