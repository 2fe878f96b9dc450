"""Options as data: a field of a frozen value says what a person may give for it, in which unit and under which name.

`option` makes such a field. From it come the option of the command line (`becalm.cli.options`), the keyword in the
signature and the help of a public function (`becalm.nouns.signature`), the stored row of a study, and the tables of
docs/reference/commands.md. What people write ("30s", "2%") is parsed here once, by `parse`; all other code sees the
field's value.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Self

from becalm.errors import UsageError
from becalm.nouns.codec import Json, encode, fields_of
from becalm.nouns.settings import Settings
from becalm.units import MOST_WHOLE
from becalm.values import dataclass

_KEY = "option"


@dataclass(frozen=True, slots=True)
class Option:
    """The description of an option.

    `name`: the keyword in Python; `field`: where its value is kept. `given`: type of what people give for it.
    `default`: as people would give it; `shown`: the default in words where the value says too little. `flag`: on the
    command line, empty for none; `off`: the flag that says no to it, with the `off_help` of that, and `off_gives` what
    it stands for. `parse` makes the field's value of what was given. `least`: the smallest number there may be.
    `repeats`: may be given several times on the command line. `none`: None is a value of its own, and not the default.
    """

    name: str
    field: str
    help: str
    given: Any
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

    def value(self, given: object) -> Any:
        """Return the field's value for an argument. Raises UsageError."""
        called = self.flag or self.name
        if self.choices and given not in self.choices:
            raise UsageError(f"{called} is one of {', '.join(self.choices)}, not {given!r}.")
        result = given if self.parse is None else self.parse(given)
        if isinstance(result, float) and not math.isfinite(result):
            raise UsageError(f"{called} must be a finite number, not {given}.")
        if isinstance(result, int) and abs(result) > MOST_WHOLE:
            raise UsageError(f"{called} must be at most {MOST_WHOLE}, not {result:.3e}.")
        if self.least is not None and isinstance(result, (int, float)) and result < self.least:
            raise UsageError(f"{called} must be at least {self.least:g}, not {given}.")
        return result

    @property
    def text(self) -> str:
        """The default in words; empty where there is none."""
        if self.shown:
            return self.shown
        return "" if self.default is None or self.default is False or self.default in ((), "") else str(self.default)


def option(default: Any, help: str, given: Any, *, name: str = "", flag: str | None = None, **more: Any) -> Any:
    """Return a field of a frozen value that people may give; `more` are attributes of Option.

    `default` as people would give it; the field's own is what `parse` makes of it. `flag` None: made of the name.
    `kept`: the field's own default where it cannot be given.
    """
    parse = more.get("parse")
    own = more.pop("kept") if "kept" in more else default if default is None or parse is None else parse(default)
    return field(
        default=own,
        metadata={_KEY: {"help": help, "given": given, "default": default, "name": name, "flag": flag, **more}},
    )


def options(kind: type[Any]) -> Mapping[str, Option]:
    """Return the options of a value, by keyword."""
    result: dict[str, Option] = {}
    for each in dataclasses.fields(kind):
        if (made := each.metadata.get(_KEY)) is not None:
            name = made["name"] or each.name
            flag = "--" + name.replace("_", "-") if made["flag"] is None else made["flag"]
            result[name] = Option(**{**made, "name": name, "flag": flag, "field": each.name})
    return result


def parsed(kind: type[Any], given: Mapping[str, object]) -> dict[str, Any]:
    """Return fields and values for the arguments of the options of `kind`; None stands for the default.

    Raises UsageError for a value that cannot be.
    """
    result = {}
    for name, each in options(kind).items():
        if name in given and (given[name] is not None or each.none):
            result[each.field] = each.value(given[name])
    return result


def refuse_unknown(given: Mapping[str, object], *kinds: type[Any], also: tuple[str, ...] = ()) -> None:
    """Raise UsageError with the nearest name for a keyword that is not an option of these values."""
    known = {*also, *(name for kind in kinds for name in options(kind))}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), n=1)
            raise UsageError(f"There is no option {name!r}." + (f" Did you mean {near[0]!r}?" if near else ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """The options that every kind of study has: one JSON form, which is the stored row.

    `group`: what the studies of one measurement on several hosts have in common. `kept`: settings that were on when it
    began, until `becalm reset`. `emulated`: why its times are not those of a real processor; empty where they are.
    """

    group: str = ""
    kept: Settings = field(default_factory=Settings)
    emulated: str = ""

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Self:
        """Return the value for keyword arguments; None stands for the default. Raises UsageError."""
        return cls(**parsed(cls, given))

    def to_json(self) -> dict[str, Json]:
        """Return the form that the store keeps; `from_json` reads it."""
        return {each.name: encode(getattr(self, each.name)) for each in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Self:
        """Read a stored row. Raises UsageError for one that is damaged."""
        try:
            return cls(**fields_of(cls, value))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"The options of this study are damaged: {error}.") from None
