"""The nouns Finding, a fact about the data, and Interval, a number with its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.nouns.codec import HighBound, LowBound


class Interval(msgspec.Struct, frozen=True):
    """A value with its confidence interval, in the unit of its field's name."""

    value: HighBound
    low: LowBound
    high: HighBound


class Finding(msgspec.Struct, frozen=True):
    """A fact about the data that a person should know: a drift, two modes, an outlier, left-over processes.

    `becalm.wording.findings` has the table of kinds and makes the sentence from the kind and its numbers.
    """

    kind: str
    sentence: str
    numbers: Mapping[str, Any] = msgspec.field(default_factory=dict)
    program: str = ""

    def kept(self) -> dict[str, Any]:
        """Return the stored form, without the sentence, which `becalm.wording.findings.reworded` makes again."""
        return {"kind": self.kind, "numbers": dict(self.numbers), "program": self.program}
