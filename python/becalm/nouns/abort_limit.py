"""The noun AbortLimit: the time after which a run of a search is ended early (`tune --abort-above`)."""

from __future__ import annotations

import math
import re

import msgspec

from becalm.errors import UsageError
from becalm.units import duration_ns

LEAST = 1.5
"""The smallest multiple of the best time so far: below it, noise would end runs of good settings."""

_TIMES = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*(x|×|%)\s*", re.IGNORECASE)
_BARE = re.compile(r"\s*[0-9]*\.?[0-9]+\s*")


class AbortLimit(msgspec.Struct, frozen=True):
    """A limit of `times` the best time so far, or of `ns` nanoseconds; the other field is 0.

    A run that is ended early is a lower bound of its time, and is not used as a value.
    """

    times: float = 0.0
    ns: int = 0

    @classmethod
    def parse(cls, value: AbortLimit | str | float) -> AbortLimit:
        """Return the limit of a text such as 3x, 300% or 1.5s. Raises UsageError."""
        if isinstance(value, AbortLimit):
            return value
        text = str(value)
        if _BARE.fullmatch(text):
            number = text.strip()
            raise UsageError(
                f"--abort-above {number} is ambiguous. Write {number}x for a multiple of the best time so far, or "
                f"{number}s for a duration."
            )
        match = _TIMES.fullmatch(text)
        if match is None:
            try:
                return cls(ns=duration_ns(text))
            except UsageError:
                raise UsageError(
                    "--abort-above is a multiple of the best time so far, such as 3x, or a duration, such as 1.5s, "
                    f"not {value!r}."
                ) from None
        times = float(match[1]) / (100 if match[2] == "%" else 1)
        if not LEAST <= times < math.inf:
            raise UsageError(
                f"--abort-above must be at least {LEAST:g}x, not {value}: a lower limit would also end runs of good "
                "settings that noise made slow."
            )
        return cls(times=times)

    @property
    def spelled(self) -> str:
        """The text that `parse` reads as this limit."""
        return f"{self.times:g}x" if self.times else f"{self.ns / 1e9:g}s"

    def limit_ns(self, best_ns: float) -> int:
        """Return the time after which a run is ended, ns. `best_ns`: the time of a run of the best settings so far."""
        return math.ceil(self.times * best_ns) if self.times else self.ns
