"""The noun Domain: the values of a knob, as in the engine's catalogue (crates/becalm-core/src/knob/domain.rs).

A domain decides which values are accepted, how they are worded and which ones a search tries: `categories` of values
without an order, levels of a `Range` of numbers. A search works in coded units from -1 to 1, in which all ranges are
alike (Box & Wilson 1951, J. R. Stat. Soc. B 13:1); on a logarithmic scale equal steps are equal factors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from becalm.nouns.codec import plain_dict

Value = str | int | bool
"""The value of a setting in options and profiles."""

HIGHEST_CPU = 65_535
"""The highest number of a CPU in a list (crates/becalm-core/src/knob/cpus.rs)."""


def text(value: Value) -> str:
    """Return a value in the catalogue's spelling: true is on, false is off."""
    if isinstance(value, bool):
        return "on" if value else "off"
    stripped = str(value).strip()
    return {"true": "on", "false": "off"}.get(stripped, stripped)


class Scale(StrEnum):
    """The scale on which equal steps have effects of about equal size."""

    LINEAR = "linear"
    LOG = "log"


class Range(msgspec.Struct, frozen=True):
    """The whole numbers from `low` to `high`, both included. On the scale LOG `low` is above 0."""

    low: int
    high: int
    unit: str = ""
    scale: Scale = Scale.LINEAR

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise ValueError(f"The low end of a range must be below its high end, not {self.low} to {self.high}.")
        if self.scale is Scale.LOG and self.low <= 0:
            raise ValueError(f"A logarithmic scale needs numbers above 0; {self.low} is not.")

    def __contains__(self, number: int) -> bool:
        return self.low <= number <= self.high

    def clamp(self, number: float) -> int:
        """Return the value of the range nearest to a number."""
        return min(self.high, max(self.low, round(number)))

    def coded(self, number: float) -> float:
        """Return a number in coded units: -1 at the low end, 1 at the high end, and beyond them outside the range."""
        low, high, at = (self._scaled(end) for end in (self.low, self.high, number))
        return 2 * (at - low) / (high - low) - 1

    def natural(self, coded: float) -> int:
        """Return the value at a coded position, which is first clamped to -1 to 1."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        at = low + (min(1.0, max(-1.0, coded)) + 1) / 2 * (high - low)
        return self.clamp(math.exp(at) if self.scale is Scale.LOG else at)

    def levels(self, count: int) -> tuple[int, ...]:
        """Return `count` values at equal distances on the scale, both ends included; fewer if some coincide.

        Raises ValueError for a count below two.
        """
        if count < 2:
            raise ValueError(f"A range needs at least two levels, not {count}.")
        return tuple(dict.fromkeys(self.natural(2 * index / (count - 1) - 1) for index in range(count)))

    def _scaled(self, number: float) -> float:
        if self.scale is Scale.LINEAR:
            return float(number)
        if number <= 0:
            raise ValueError(f"A logarithmic scale needs numbers above 0; {number} is not.")
        return math.log(number)


class Special(msgspec.Struct, frozen=True):
    """A value with a meaning of its own: 0 for the kernel's default, max, first-core."""

    value: str
    meaning: str


class Class(msgspec.Struct, frozen=True):
    """A word that may have a level, such as fifo:50. `default`: the level if none is written; None: it is required."""

    word: str
    levels: Range | None = None
    default: int | None = None


class Domain(msgspec.Struct, frozen=True):
    """The values of a knob, of one kind, besides its `special` values.

    The kinds: words (`choices`), numbers (`range`), lists of CPUs (`cpus`), `classes`, running `processes` each with a
    list of CPUs, or the words that a file of the machine lists (`listed`). `words`: the description for people.
    """

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
            classes=tuple(_read_class(row) for row in value.get("classes", ())),
            listed=value.get("path"),
            special=tuple(Special(**row) for row in value["special"]),
            processes=kind == "processes",
        )

    def to_json(self) -> dict[str, Any]:
        """Return the form of the catalogue, which `from_json` reads."""
        form: dict[str, Any]
        if self.range is not None:
            numbers = self.range
            form = {
                "kind": "range",
                "low": numbers.low,
                "high": numbers.high,
                "unit": numbers.unit,
                "scale": numbers.scale,
            }
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
        return {**form, "special": [plain_dict(special) for special in self.special], "words": self.words}

    def holds(self, value: Value) -> bool:
        """Return whether a value is in the domain, as far as that can be decided without the machine."""
        spelled = text(value)
        if any(special.value == spelled for special in self.special) or spelled in self.choices:
            return True
        if self.range is not None:
            return _is_whole(spelled) and int(spelled) in self.range
        if self.cpus:
            return _is_cpu_list(spelled)
        if self.processes:
            return _is_processes(spelled)
        if self.listed is not None:
            return spelled != "" and not any(character.isspace() for character in spelled)
        return any(_in_class(class_, spelled) for class_ in self.classes)

    def parse(self, value: Value) -> str | int:
        """Return a value of the domain in the form of profiles: whole numbers as numbers, all else as text.

        Raises ValueError for a value outside of the domain, with the values that the knob takes.
        """
        if not self.holds(value):
            raise ValueError(f"it takes {self.words}")
        spelled = text(value)
        return int(spelled) if _is_whole(spelled) else spelled

    @property
    def categories(self) -> tuple[str, ...]:
        """The values that have names: words, special ones, classes that need no level."""
        alone = (class_.word for class_ in self.classes if class_.levels is None or class_.default is not None)
        return (*self.choices, *alone, *(special.value for special in self.special))


def _read_class(row: Mapping[str, Any]) -> Class:
    levels = None if row["levels"] is None else Range(*row["levels"])
    return Class(row["word"], levels, row["default"])


def _class_json(class_: Class) -> dict[str, Any]:
    levels = None if class_.levels is None else [class_.levels.low, class_.levels.high]
    return {"word": class_.word, "levels": levels, "default": class_.default}


def _in_class(class_: Class, spelled: str) -> bool:
    word, colon, level = spelled.partition(":")
    if word != class_.word:
        return False
    if not colon:
        return class_.levels is None or class_.default is not None
    return class_.levels is not None and _is_whole(level) and int(level) in class_.levels


def _is_whole(spelled: str) -> bool:
    """Return whether a text is a whole number of 64 bits, which the agent can read."""
    digits = spelled[1:] if spelled[:1] in ("-", "+") else spelled
    return digits.isascii() and digits.isdigit() and -(2**63) <= int(spelled) < 2**63


def _is_cpu_list(spelled: str) -> bool:
    for part in spelled.split(","):
        first, dash, last = part.partition("-")
        ends = [first.strip(), last.strip() if dash else first.strip()]
        if not all(_is_whole(end) and not end.startswith("-") for end in ends):
            return False
        if not int(ends[0]) <= int(ends[1]) <= HIGHEST_CPU:
            return False
    return True


def _is_processes(spelled: str) -> bool:
    """Return whether a text is like 1234:0-1;1240@5678:2, each process once (becalm-core/src/knob/threads.rs)."""
    matches = [re.fullmatch(r"([0-9]+)(?:@([0-9]+))?:([0-9,-]+)", part, re.ASCII) for part in spelled.split(";")]
    pids = [int(match[1]) for match in matches if match is not None]
    return (
        all(match is not None and int(match[2] or 0) < 2**64 and _is_cpu_list(match[3]) for match in matches)
        and all(0 < pid < 2**31 for pid in pids)
        and len(set(pids)) == len(pids)
    )
