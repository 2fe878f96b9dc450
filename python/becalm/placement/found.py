"""What a method is given and what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from becalm.placement.problem import Sharing


@dataclass(frozen=True, slots=True)
class Search:
    """How long and from which seed a method may search, and where its weights are if not those that ship."""

    seed: int
    budget_s: float
    weights: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a method found. `bound`: on the mean cost, where that is proved. `decision_ns`: as the engine measured
    it."""

    sharing: Sharing
    bound: float | None = None
    decision_ns: int | None = None
    out_of_time: bool = False


def sharing_of(chips: Sequence[int], count: int) -> Sharing:
    """The processes on each of so many chips, from the chip of each process; slots that nobody uses are left out."""
    return tuple(tuple(each for each, at in enumerate(chips) if at == chip) for chip in range(count))
