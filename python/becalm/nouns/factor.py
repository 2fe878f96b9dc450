"""The noun Factor: a variable of an experiment, either a range with unit and scale, or choices without order.

In coded units the ends of a range are -1 and 1 (Box & Wilson 1951, J. R. Stat. Soc. B 13:1), on a logarithmic scale
those of its logarithm; a choice is coded by its position among the choices, from 0. `of_domain` takes over the ranges
of knobs (`becalm.nouns.domain`); other ranges need not have whole numbers.

People write a factor as `time=80..90min`, `slice=0.1..100ms:log`, `workers=1..64:log:whole` or `policy=other,batch`;
`spelled` returns this form, for the head of a worksheet's column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.errors import UsageError
from becalm.nouns.codec import decode
from becalm.nouns.domain import Domain, Scale

Level = float | int | str
"""A value of a factor: a number in its unit, or a choice."""

_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*\.\.\s*({_NUMBER})\s*(.*?)\s*")
MARKS = ("linear", "log", "whole")
"""The marks that may follow a factor after colons."""

TIMES = {"ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0}
"""Units of time, in seconds: a level is shown in the unit in which it is easiest to read."""

LONG = {"min": 60.0, "h": 3600.0, "d": 86400.0}
"""Units of longer times, in seconds, since a fitted surface is also evaluated beyond the ranges."""

PLAIN = 1e15
"""The limit below which numbers are written without an exponent."""

LARGEST = 700.0
"""The logarithm of about the largest floating-point number."""

DIGITS = 12
"""The significant digits of a level in a worksheet, so that the fitted level is the one that was set."""


class Factor(msgspec.Struct, frozen=True):
    """A range from `low` to `high`, or `choices`. `whole`: whether only whole numbers can be set."""

    name: str
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    scale: Scale = Scale.LINEAR
    whole: bool = False
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise UsageError("A factor needs a name: time=80..90min.")
        if self.choices:
            if len(self.choices) < 2 or len(set(self.choices)) < len(self.choices) or not all(self.choices):
                raise UsageError(
                    f"{self.name} needs at least two different choices, for example {self.name}=other,batch."
                )
            return
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise UsageError(
                f"The range of {self.name} must go from a lower to a higher number; {self._ends()} does not."
            )
        if self.scale is Scale.LOG and self.low <= 0:
            raise UsageError(
                f"A logarithmic scale needs numbers above 0, and the range of {self.name} begins at {self.low:g}. "
                "Begin it above 0, or leave out :log."
            )
        if self.whole and not (self.low.is_integer() and self.high.is_integer()):
            raise UsageError(
                f"{self.name} takes whole numbers only, and the ends of its range, {self._ends()}, are not whole."
            )

    @classmethod
    def parse(cls, text: str) -> Factor:
        """Return the factor of a text. Raises UsageError for a name without a range and for an invalid range."""
        name, equals, rest = text.partition("=")
        name = name.strip()
        if not equals or not rest.strip():
            raise UsageError(
                f"The factor {name or text!r} has no range. Write it like {name or 'time'}=80..90min, "
                f"{name or 'time'}=0.1..100ms:log or, for choices, {name or 'time'}=other,batch."
            )
        head, *marks = (part.strip() for part in rest.split(":"))
        if (match := _RANGE.fullmatch(head)) is None:
            if ".." in head or marks or "," not in head:
                raise UsageError(
                    f"{rest.strip()!r} is not a range of {name}. Write two numbers with .. between them, and a unit: "
                    f"{name}=80..90min; or choices: {name}=other,batch."
                )
            return cls(name, choices=tuple(part.strip() for part in head.split(",")))
        if unknown := [mark for mark in marks if mark not in MARKS]:
            raise UsageError(f"{name}: a range may be followed by :log and :whole, not by :{unknown[0]}.")
        if match[3].startswith(".."):
            raise UsageError(
                f"The range of a factor takes no step: write {name}={match[1]}..{match[2]}. becalm chooses the "
                "values between the ends."
            )
        scale = Scale.LOG if "log" in marks else Scale.LINEAR
        return cls(name, float(match[1]), float(match[2]), match[3], scale, "whole" in marks)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Factor:
        """Return the factor that `to_json` wrote."""
        return decode(cls, value)

    @classmethod
    def of_domain(cls, name: str, domain: Domain) -> Factor:
        """Return a knob as a factor: its range of whole numbers, or its choices. Raises UsageError without either."""
        if domain.range is not None:
            numbers = domain.range
            return cls(name, float(numbers.low), float(numbers.high), numbers.unit, numbers.scale, True)
        if len(domain.choices) > 1:
            return cls(name, choices=domain.choices)
        raise UsageError(
            f"{name} takes {domain.words}, which is neither a range nor a list of choices, and cannot be varied."
        )

    @property
    def categorical(self) -> bool:
        """Whether the factor has choices instead of a range."""
        return bool(self.choices)

    @property
    def spelled(self) -> str:
        """The text that `parse` reads as this factor."""
        if self.categorical:
            return f"{self.name}={','.join(self.choices)}"
        marks = (":log" if self.scale is Scale.LOG else "") + (":whole" if self.whole else "")
        return f"{self.name}={self._ends()}{self.unit}{marks}"

    def coded(self, level: Level) -> float:
        """Return a level in coded units. Raises UsageError for a level that the factor cannot have."""
        if self.categorical:
            if str(level) not in self.choices:
                raise UsageError(f"{self.name} is one of {', '.join(self.choices)}, not {str(level)!r}.")
            return float(self.choices.index(str(level)))
        if isinstance(level, str):
            raise UsageError(f"{self.name} is a number, not {level!r}.")
        low, high, at = (self._scaled(float(number)) for number in (self.low, self.high, level))
        return 2 * (at - low) / (high - low) - 1

    def natural(self, coded: float) -> Level:
        """Return the level at a coded position, also beyond the ends, where axial points may lie."""
        if self.categorical:
            return self.choices[round(coded)]
        low, high = self._scaled(self.low), self._scaled(self.high)
        at = (low + high) / 2 + coded * (high - low) / 2
        level = math.exp(min(at, LARGEST)) if self.scale is Scale.LOG else at
        return round(level) if self.whole and abs(level) < PLAIN else float(f"{level:.{DIGITS}g}")

    def worded(self, level: Level, digits: int = 6) -> str:
        """Return a level in words, with its unit and `digits` digits; a time in the unit that is easiest to read."""
        if isinstance(level, str):
            return level
        unit, size = self.unit, abs(level)
        if unit in TIMES and size and not 1e-3 <= size < (math.inf if unit == "s" else 1e3):
            seconds, scales = size * TIMES[unit], {**TIMES, **LONG}
            fitting = (name for name, scale in TIMES.items() if 0.9999 * scale <= seconds < 999.9 * scale)
            longest = next((name for name, scale in reversed(LONG.items()) if seconds >= scale), unit)
            unit = next(fitting, longest)
            level = level * scales[self.unit] / scales[unit]
        text = f"{level:.{digits}g}"
        if "e" in text and 1 <= abs(level) < PLAIN:
            text = f"{float(text):.0f}"
        return f"{text}{' ' if unit else ''}{unit}"

    def _ends(self) -> str:
        return f"{self.low:.{DIGITS}g}..{self.high:.{DIGITS}g}"

    def _scaled(self, number: float) -> float:
        if self.scale is Scale.LINEAR:
            return number
        if number <= 0:
            raise UsageError(
                f"{number:g} cannot be on the logarithmic scale of {self.name}, which needs numbers above 0."
            )
        return math.log(number)


def check_distinct(factors: tuple[Factor, ...]) -> tuple[Factor, ...]:
    """Return the factors. Raises UsageError if two have the same name, and if there are none."""
    names = [factor.name for factor in factors]
    if not names:
        raise UsageError("A design needs factors: becalm design central time=80..90min temp=170..180C")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"The factor {twice[0]} is named twice. Name each factor once.")
    return factors
