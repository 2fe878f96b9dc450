"""The noun FlaggedRounds: which rounds of a study a rule has flagged, and by which of its measures.

Of a million runs every round may be flagged, so it takes six bytes for each: its number and which of the few
combinations of measures it was. `study.looks` fills it block by block; `study.conclude` asks it at the end.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from becalm.plans.history import GrowingColumn
from becalm.stats.arrays import Positions


class FlaggedRounds:
    """Rounds by number with the measures that flagged them, as they come; what is said of one again replaces it."""

    def __init__(self) -> None:
        self._round = GrowingColumn(np.int32)
        self._which = GrowingColumn(np.uint16)
        self._combinations: dict[tuple[str, ...], int] = {}

    def update(self, rounds: Mapping[int, tuple[str, ...]]) -> None:
        """Take rounds with their measures."""
        for number, measures in rounds.items():
            self._round.append(number)
            self._which.append(self._combinations.setdefault(measures, len(self._combinations)))

    def __len__(self) -> int:
        """Return the number of flagged rounds."""
        return len(np.unique(self._round.values))

    def among(self, rounds: Positions) -> tuple[list[int], dict[str, int]]:
        """Return the flagged ones of these rounds, ascending, and how many of them each measure flagged."""
        # The first of a number in the reverse order is what was said last.
        numbers, last = np.unique(self._round.values[::-1], return_index=True)
        asked = np.isin(numbers, rounds)
        which = self._which.values[::-1][last[asked]]
        counts = np.bincount(which, minlength=len(self._combinations)).tolist()
        flagged: dict[str, int] = {}
        for measures, count in zip(self._combinations, counts, strict=True):
            for measure in measures if count else ():
                flagged[measure] = flagged.get(measure, 0) + count
        return numbers[asked].tolist(), flagged
