"""Options as data: a field of a frozen value with the name, unit, default and help of its option.

`option` makes such a field. The option of the command line (`becalm.cli.options`), the keyword in the signature and the
help of a public function (`becalm.nouns.signature`), the stored row of a study, and the tables of
docs/reference/commands.md are made from it. Values such as "30s" and "2%" are parsed here once, by `parse`; all other
code uses the field's value. Classes of options are dataclasses, because a field of a Struct has no metadata.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec

from becalm.errors import UsageError
from becalm.nouns.codec import Json, decode, plain
from becalm.nouns.settings import Settings
from becalm.units import MOST_WHOLE

_KEY = "option"


class Option(msgspec.Struct, frozen=True):
    """The description of an option.

    - `name`: the keyword in Python; `field`: the field that stores the value.
    - `annotation`: the type of the argument.
    - `default`: the default as an argument; `shown`: the default in words, if its value is not clear.
    - `flag`: the flag of the command line, empty for none.
    - `off`: the flag that switches the option off; `off_help`: its help; `off_gives`: the value that it sets.
    - `parse`: converts an argument to the field's value.
    - `least`: the smallest number.
    - `repeats`: whether the flag may be repeated on the command line.
    - `none`: whether None is a value of its own, instead of the default.
    """

    name: str
    field: str
    help: str
    annotation: Any
    default: Any
    unit: str = ""
    flag: str = ""
    metavar: str = ""
    shown: str = ""
    choices: tuple[str, ...] = ()
    parse: Callable[[Any], Any] | None = None
    least: float | None = None
    repeats: bool = False
    off: str = ""
    off_help: str = ""
    off_gives: Any = False
    none: bool = False

    def value(self, argument: object) -> Any:
        """Return the field's value for an argument. Raises UsageError."""
        label = self.flag or self.name
        if self.choices and argument not in self.choices:
            raise UsageError(f"{label} is one of {', '.join(self.choices)}, not {argument!r}.")
        result = argument if self.parse is None else self.parse(argument)
        if isinstance(result, float) and not math.isfinite(result):
            raise UsageError(f"{label} must be a finite number, not {argument}.")
        if isinstance(result, int) and abs(result) > MOST_WHOLE:
            raise UsageError(f"{label} must be at most {MOST_WHOLE}, not {result:.3e}.")
        if self.least is not None and isinstance(result, (int, float)) and result < self.least:
            raise UsageError(f"{label} must be at least {self.least:g}, not {argument}.")
        return result

    @property
    def text(self) -> str:
        """The default in words; empty where there is none."""
        if self.shown:
            return self.shown
        return "" if self.default is None or self.default is False or self.default in ((), "") else str(self.default)


def option(default: Any, help: str, annotation: Any, *, name: str = "", flag: str | None = None, **more: Any) -> Any:
    """Return a field of a frozen value for an option; `more` are attributes of Option.

    `default`: the default as an argument, which `parse` turns into the field's default. `kept`, among `more`: the
    field's default if it is no valid argument. `flag`: None for a flag made from the name.
    """
    parse = more.get("parse")
    field_default = (
        more.pop("kept") if "kept" in more else default if default is None or parse is None else parse(default)
    )
    return field(
        default=field_default,
        metadata={
            _KEY: {"help": help, "annotation": annotation, "default": default, "name": name, "flag": flag, **more}
        },
    )


def options(kind: type[Any]) -> Mapping[str, Option]:
    """Return the options of a value, by keyword."""
    result: dict[str, Option] = {}
    for field_ in dataclasses.fields(kind):
        if (attributes := field_.metadata.get(_KEY)) is not None:
            name = attributes["name"] or field_.name
            flag = "--" + name.replace("_", "-") if attributes["flag"] is None else attributes["flag"]
            result[name] = Option(**{**attributes, "name": name, "flag": flag, "field": field_.name})
    return result


def parse_keywords(kind: type[Any], keywords: Mapping[str, object]) -> dict[str, Any]:
    """Return the values by field for the keyword arguments that are options of `kind`; None stands for the default.

    Raises UsageError for an invalid value.
    """
    result = {}
    for name, option_ in options(kind).items():
        if name in keywords and (keywords[name] is not None or option_.none):
            result[option_.field] = option_.value(keywords[name])
    return result


def refuse_unknown(keywords: Mapping[str, object], *kinds: type[Any], also: tuple[str, ...] = ()) -> None:
    """Raise UsageError with the nearest name for a keyword that is neither an option of these classes nor in `also`."""
    names = {*also, *(name for kind in kinds for name in options(kind))}
    for name in keywords:
        if name not in names:
            near = difflib.get_close_matches(name, sorted(names), n=1)
            raise UsageError(f"There is no option {name!r}." + (f" Did you mean {near[0]!r}?" if near else ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """The options of every kind of study, with one JSON form, which is the stored row.

    - `group`: an identifier that the studies of one measurement on several hosts share.
    - `standing`: settings that were applied when the study began, and stay until `becalm reset`.
    - `emulated`: the reason why the times are not those of a real processor; empty if they are.
    """

    group: str = ""
    standing: Settings = field(default_factory=Settings)
    emulated: str = ""

    @classmethod
    def of(cls, keywords: Mapping[str, object]) -> Self:
        """Return the value for keyword arguments; None stands for the default. Raises UsageError."""
        return cls(**parse_keywords(cls, keywords))

    def to_json(self) -> dict[str, Json]:
        """Return the stored form, which `from_json` reads."""
        return {field_.name: plain(getattr(self, field_.name)) for field_ in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Self:
        """Return the options of a stored row. Raises UsageError for a damaged one."""
        try:
            return decode(cls, value)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"The options of this study are damaged: {error}.") from None
