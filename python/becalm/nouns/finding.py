"""The noun Finding: something noticed in the data; and Interval, a number with its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from becalm.values import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its confidence interval, in the unit its name says."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact about the data that a person should know: a drift, two modes, an outlier, left-over processes.

    A kind and its numbers; `becalm.wording.findings` has the table of kinds, and makes the sentence of them.
    """

    kind: str
    sentence: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    program: str = ""

    def kept(self) -> dict[str, Any]:
        """Return the stored form: the sentence is made again (`becalm.wording.findings.reworded`)."""
        return {"kind": self.kind, "numbers": dict(self.numbers), "program": self.program}
