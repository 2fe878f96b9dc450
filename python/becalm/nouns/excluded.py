"""The noun Excluded: a knob that a search leaves out."""

from __future__ import annotations

from becalm.values import dataclass


@dataclass(frozen=True, slots=True)
class Excluded:
    """A knob that was left out, with the reason as a part of a sentence."""

    knob: str
    reason: str
