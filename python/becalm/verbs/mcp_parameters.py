"""The typed input of the tools of `becalm mcp`: parameters, their JSON Schema, and the check of what an agent sends."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from becalm.errors import UsageError

Arguments = Mapping[str, Any]

LONGEST = 100_000
"""The largest accepted length of a text, in characters, and of a list."""

_SCALAR = ["string", "number", "boolean"]

SCHEMAS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "count": {"type": "integer", "minimum": 1},
    "flag": {"type": "boolean"},
    "settings": {"type": "object", "additionalProperties": {"type": _SCALAR}},
    "variables": {"type": "object", "additionalProperties": {"type": "string"}},
}
"""The JSON Schema of each type of parameter."""


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a tool. `type`: a name in SCHEMAS; `choices`: the only accepted texts, empty for any."""

    name: str
    type: str
    what: str
    required: bool = False
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the parameter."""
        choices = {"enum": list(self.choices)} if self.choices else {}
        return {**SCHEMAS[self.type], **choices, "description": self.what}


def schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the JSON Schema of an input (2020-12)."""
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema() for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


def checked(parameters: Sequence[Parameter], arguments: Arguments) -> dict[str, Any]:
    """Return the arguments that are not null. Raises UsageError for an unknown, missing or unsuitable one."""
    known = {parameter.name: parameter for parameter in parameters}
    values = {name: value for name, value in arguments.items() if value is not None}
    for name, value in values.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise UsageError(f"There is no parameter {name!r:.100}." + (f" Did you mean {near[0]!r}?" if near else ""))
        _check(known[name], value)
    if lacking := [parameter.name for parameter in parameters if parameter.required and parameter.name not in values]:
        raise UsageError(f"The parameter {lacking[0]!r} is missing.")
    return values


def _check(parameter: Parameter, value: Any) -> None:
    if not _FITS[parameter.type](value):
        raise UsageError(f"{parameter.name} must be {_WORDS[parameter.type]}, not {value!r:.100}.")
    if parameter.choices and value not in parameter.choices:
        raise UsageError(f"{parameter.name} must be one of {', '.join(parameter.choices)}, not {value!r:.100}.")


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST and "\0" not in value


def _scalar(value: Any) -> bool:
    return _text(value) or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))


_FITS: dict[str, Callable[[Any], bool]] = {
    "text": _text,
    "texts": lambda value: isinstance(value, list) and len(value) <= LONGEST and all(map(_text, value)),
    "count": lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31,
    "flag": lambda value: isinstance(value, bool),
    "settings": lambda value: isinstance(value, dict) and all(map(_scalar, value.values())),
    "variables": lambda value: isinstance(value, dict) and all(map(_text, value.values())),
}

_WORDS = {
    "text": "a string",
    "texts": "a list of strings",
    "count": "a whole number from 1",
    "flag": "true or false",
    "settings": "an object of names and values",
    "variables": "an object of names and texts",
}
