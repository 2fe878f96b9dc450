"""A knob that a search leaves out, and why."""

from __future__ import annotations

from becalm.values import dataclass


@dataclass(frozen=True, slots=True)
class Excluded:
    """A knob that was not tried, and why."""

    knob: str
    reason: str
