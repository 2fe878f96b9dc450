"""The noun Goal: the direction in which a response is optimised, and the limits of its desirability.

`becalm.surfaces.desirability` has the arithmetic (Derringer & Suich 1980, J. Qual. Technol. 12:214).
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

import msgspec

from becalm.errors import UsageError

KINDS = ("min", "max", "target")


class Goal(msgspec.Struct, frozen=True):
    """The desirability of a response's values, from 0, unacceptable, to 1, good enough.

    min: 1 up to `low`, 0 from `high` on; max the other way round; target: 1 at `at`, 0 at `low` and `high`. NaN for
    `low` and `high` stands for the lowest and the highest measured value.
    """

    kind: str = "min"
    low: float = math.nan
    high: float = math.nan
    at: float = math.nan

    @classmethod
    def parse(cls, text: str, name: str = "y") -> Goal:
        """Return the goal of a text: min, max, min:100..500, max:80..97 or target:55..57.5..60. Raises UsageError."""
        kind, colon, rest = text.strip().partition(":")
        wrong = UsageError(
            f"{text!r} is not a goal of {name}. Write min or max, a goal with limits in ascending order, such as "
            "max:80..97 (80 is worthless, 97 is good enough), or a target, such as target:55..57.5..60."
        )
        if kind not in KINDS:
            raise wrong
        try:
            ends = [float(part) for part in re.split(r"\.\.", rest)] if colon else []
        except ValueError:
            raise wrong from None
        if len(ends) not in ((3,) if kind == "target" else (0, 2)):
            raise wrong
        if any(not math.isfinite(end) for end in ends) or any(a >= b for a, b in pairwise(ends)):
            raise wrong
        if kind == "target":
            return cls(kind, ends[0], ends[2], ends[1])
        return cls(kind, *ends)

    @property
    def bounded(self) -> bool:
        """Whether the goal has limits of its own."""
        return not math.isnan(self.low)

    def within(self, low: float, high: float) -> Goal:
        """Return the goal with these limits if it has none."""
        return self if self.bounded else Goal(self.kind, low, high, self.at)
