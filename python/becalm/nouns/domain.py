"""The noun Domain: which values a knob takes, as the engine's catalogue has it (crates/becalm-core/src/knob/domain.rs).

From it follow what is accepted, how it is worded and, for a search, which values there are to try: `categories` of
those without order, levels of a `Range` for those with one. A search works in coded units, -1 to 1, in which all ranges
are alike (Box & Wilson 1951, J. R. Stat. Soc. B 13:1); on a logarithmic scale equal steps are equal factors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from becalm.values import dataclass

Value = str | int | bool
"""A value of a setting as a person or a profile gives it."""

HIGHEST_CPU = 65_535
"""Longer lists of CPUs are not spelled out (crates/becalm-core/src/knob/cpus.rs)."""


def text(value: Value) -> str:
    """Return a value as the catalogue spells it: true is on, false off."""
    if isinstance(value, bool):
        return "on" if value else "off"
    stripped = str(value).strip()
    return {"true": "on", "false": "off"}.get(stripped, stripped)


class Scale(StrEnum):
    """The scale on which equal steps have effects of about equal size."""

    LINEAR = "linear"
    LOG = "log"


@dataclass(frozen=True, slots=True)
class Range:
    """Whole numbers from `low` to `high`, both included. On the scale LOG `low` is above 0."""

    low: int
    high: int
    unit: str = ""
    scale: Scale = Scale.LINEAR

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise ValueError(f"A range needs two ends; {self.low} to {self.high} has none.")
        if self.scale is Scale.LOG and self.low <= 0:
            raise ValueError(f"On a logarithmic scale all values are above 0; {self.low} is not.")

    def __contains__(self, number: int) -> bool:
        return self.low <= number <= self.high

    def clamp(self, number: float) -> int:
        """Return the value of the range nearest to a number."""
        return min(self.high, max(self.low, round(number)))

    def coded(self, number: float) -> float:
        """Return a number in coded units: -1 at the low end, 1 at the high one; beyond them outside the range."""
        low, high, at = (self._scaled(each) for each in (self.low, self.high, number))
        return 2 * (at - low) / (high - low) - 1

    def natural(self, coded: float) -> int:
        """Return the value at a coded place; places outside -1 to 1 are bounded first."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        at = low + (min(1.0, max(-1.0, coded)) + 1) / 2 * (high - low)
        return self.clamp(math.exp(at) if self.scale is Scale.LOG else at)

    def levels(self, count: int) -> tuple[int, ...]:
        """Return `count` values at equal distances on the scale, both ends included; fewer where whole numbers
        coincide.

        Raises ValueError for less than two.
        """
        if count < 2:
            raise ValueError(f"A range has two levels at least, not {count}.")
        return tuple(dict.fromkeys(self.natural(2 * index / (count - 1) - 1) for index in range(count)))

    def _scaled(self, number: float) -> float:
        if self.scale is Scale.LINEAR:
            return float(number)
        if number <= 0:
            raise ValueError(f"{number} has no place on a logarithmic scale.")
        return math.log(number)


@dataclass(frozen=True, slots=True)
class Special:
    """A value with a meaning of its own: 0 for the kernel's default, max, first-core."""

    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Class:
    """A word that may carry a level, such as fifo:50. `default`: the level where none is given, None: it must be."""

    word: str
    levels: Range | None = None
    default: int | None = None


@dataclass(frozen=True, slots=True)
class Domain:
    """The values of a knob: words (`choices`), numbers (`range`), lists of CPUs (`cpus`), `classes`, running
    `processes` each with a list of CPUs, or the words that a file of the machine lists (`listed`); and `special` ones
    beside them. `words` says it to a person."""

    words: str
    choices: tuple[str, ...] = ()
    range: Range | None = None
    cpus: bool = False
    classes: tuple[Class, ...] = ()
    listed: str | None = None
    special: tuple[Special, ...] = ()
    processes: bool = False

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Domain:
        """Read the catalogue's form (docs/reference/protocol.md)."""
        kind = value["kind"]
        numbers = None
        if kind == "range":
            numbers = Range(value["low"], value["high"], value["unit"], Scale(value["scale"]))
        return cls(
            words=value["words"],
            choices=tuple(value.get("choices", ())),
            range=numbers,
            cpus=kind == "cpus",
            classes=tuple(_class(each) for each in value.get("classes", ())),
            listed=value.get("path"),
            special=tuple(Special(**each) for each in value["special"]),
            processes=kind == "processes",
        )

    def to_json(self) -> dict[str, Any]:
        """Return the form of the catalogue, which `from_json` reads."""
        form: dict[str, Any]
        if self.range is not None:
            found = self.range
            form = {"kind": "range", "low": found.low, "high": found.high, "unit": found.unit, "scale": found.scale}
        elif self.cpus:
            form = {"kind": "cpus"}
        elif self.processes:
            form = {"kind": "processes"}
        elif self.classes:
            form = {"kind": "classes", "classes": [_class_json(class_) for class_ in self.classes]}
        elif self.listed is not None:
            form = {"kind": "listed", "path": self.listed}
        else:
            form = {"kind": "words", "choices": list(self.choices)}
        return {**form, "special": [asdict(special) for special in self.special], "words": self.words}

    def holds(self, value: Value) -> bool:
        """Return whether a value is in the domain, as far as that is known without the machine."""
        spelled = text(value)
        if any(special.value == spelled for special in self.special) or spelled in self.choices:
            return True
        if self.range is not None:
            return _whole(spelled) and int(spelled) in self.range
        if self.cpus:
            return _is_cpu_list(spelled)
        if self.processes:
            return _is_processes(spelled)
        if self.listed is not None:
            return spelled != "" and not any(each.isspace() for each in spelled)
        return any(_in_class(class_, spelled) for class_ in self.classes)

    def parse(self, value: Value) -> str | int:
        """Return a value of the domain in the form of profiles: whole numbers as numbers, all else as text.

        Raises ValueError for what is not in the domain; its text is what the knob takes.
        """
        if not self.holds(value):
            raise ValueError(f"it takes {self.words}")
        spelled = text(value)
        return int(spelled) if _whole(spelled) else spelled

    @property
    def categories(self) -> tuple[str, ...]:
        """The values that have names: words, special ones, classes that need no level."""
        alone = (class_.word for class_ in self.classes if class_.levels is None or class_.default is not None)
        return (*self.choices, *alone, *(special.value for special in self.special))


def _class(row: Mapping[str, Any]) -> Class:
    levels = None if row["levels"] is None else Range(*row["levels"])
    return Class(row["word"], levels, row["default"])


def _class_json(each: Class) -> dict[str, Any]:
    levels = None if each.levels is None else [each.levels.low, each.levels.high]
    return {"word": each.word, "levels": levels, "default": each.default}


def _in_class(each: Class, spelled: str) -> bool:
    word, colon, level = spelled.partition(":")
    if word != each.word:
        return False
    if not colon:
        return each.levels is None or each.default is not None
    return each.levels is not None and _whole(level) and int(level) in each.levels


def _whole(spelled: str) -> bool:
    """Return whether a text is a whole number that the agent can read, too."""
    digits = spelled[1:] if spelled[:1] in ("-", "+") else spelled
    return digits.isascii() and digits.isdigit() and -(2**63) <= int(spelled) < 2**63


def _is_cpu_list(spelled: str) -> bool:
    for part in spelled.split(","):
        first, dash, last = part.partition("-")
        ends = [first.strip(), last.strip() if dash else first.strip()]
        if not all(_whole(end) and not end.startswith("-") for end in ends):
            return False
        if not int(ends[0]) <= int(ends[1]) <= HIGHEST_CPU:
            return False
    return True


def _is_processes(spelled: str) -> bool:
    """Return whether a text is like 1234:0-1;1240@5678:2, each process once (becalm-core/src/knob/threads.rs)."""
    found = [re.fullmatch(r"([0-9]+)(?:@([0-9]+))?:([0-9,-]+)", part, re.ASCII) for part in spelled.split(";")]
    pids = [int(each[1]) for each in found if each is not None]
    return (
        all(each is not None and int(each[2] or 0) < 2**64 and _is_cpu_list(each[3]) for each in found)
        and all(0 < pid < 2**31 for pid in pids)
        and len(set(pids)) == len(pids)
    )
