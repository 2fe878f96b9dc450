"""The rounds of a study that a rule has flagged, each with the measures that flagged it.

A study may have a million flagged rounds, so each takes six bytes: its number, and the index of its combination of
measures, of which there are few. `study.looks` adds rounds block by block; `study.conclude` reads them at the end.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from becalm.plans.history import GrowingColumn
from becalm.stats.arrays import Positions


class FlaggedRounds:
    """Rounds by number with the measures that flagged them; a later entry for a round replaces an earlier one."""

    def __init__(self) -> None:
        self._round = GrowingColumn(np.int32)
        self._which = GrowingColumn(np.uint16)
        self._combinations: dict[tuple[str, ...], int] = {}

    def update(self, rounds: Mapping[int, tuple[str, ...]]) -> None:
        """Add rounds by number, each with the measures that flagged it."""
        for number, measures in rounds.items():
            self._round.append(number)
            self._which.append(self._combinations.setdefault(measures, len(self._combinations)))

    def __len__(self) -> int:
        """Return the number of flagged rounds."""
        return len(np.unique(self._round.values))

    def among(self, rounds: Positions) -> tuple[list[int], dict[str, int]]:
        """Return those of these rounds that are flagged, ascending, and how many of them each measure flagged."""
        # In reverse order the first entry of a number is its latest.
        numbers, last = np.unique(self._round.values[::-1], return_index=True)
        mask = np.isin(numbers, rounds)
        which = self._which.values[::-1][last[mask]]
        counts = np.bincount(which, minlength=len(self._combinations)).tolist()
        flagged: dict[str, int] = {}
        for measures, count in zip(self._combinations, counts, strict=True):
            for measure in measures if count else ():
                flagged[measure] = flagged.get(measure, 0) + count
        return numbers[mask].tolist(), flagged
