"""The input and result of a method."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from becalm.placement.problem import Sharing


class PlacementSearch(msgspec.Struct, frozen=True):
    """The time and seed of a method's search, and the folder of its weights if they are not the shipped ones."""

    seed: int
    budget_s: float
    weights: str | None = None


class FoundPlacement(msgspec.Struct, frozen=True):
    """The result of a method. `bound`: the proved lower bound of the mean cost, if any. `decision_ns`: the time of the
    decision, as measured by the engine."""

    sharing: Sharing
    bound: float | None = None
    decision_ns: int | None = None
    out_of_time: bool = False


def sharing_of(chips: Sequence[int], count: int) -> Sharing:
    """Return the processes on each of `count` chips, from the chip of each process; unused slots are left out."""
    return tuple(tuple(process for process, at in enumerate(chips) if at == chip) for chip in range(count))
