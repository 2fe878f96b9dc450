"""The noun Excluded: a knob that a search leaves out."""

from __future__ import annotations

import msgspec


class Excluded(msgspec.Struct, frozen=True):
    """A knob that was left out, with the reason as a part of a sentence."""

    knob: str
    reason: str
