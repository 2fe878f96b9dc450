"""Values as JSON and back: whole values, strings that are not UTF-8, numbers that JSON lacks."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from becalm.line import ControlCharacterError, Line

Json = Any
"""A value that `json` can write."""


def wire(text: str | None) -> Json:
    """Return a string as the protocol carries it: itself, or {"hex": …} when it is not UTF-8 (a file name, an
    argument)."""
    if text is None:
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return {"hex": os.fsencode(text).hex()}
    return text


def unwire(value: Json) -> str | None:
    """Return the string that `wire` encoded."""
    if isinstance(value, dict):
        return os.fsdecode(bytes.fromhex(value["hex"]))
    return None if value is None else str(value)


def finite(value: Any) -> Any:
    """Return a structure of dicts and lists with null for infinity and NaN, which JSON lacks."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, StrEnum):
        return str(value)
    return value


def encode(value: Any) -> Json:
    """Return a frozen value as JSON: by its own `to_json` where it has one, else field by field."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "to_json"):
        return value.to_json()
    if dataclasses.is_dataclass(value):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(found) for key, found in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(found) for found in value]
    raise TypeError(f"{value!r} has no JSON form")


def fields_of(kind: type[Any], value: Mapping[str, Json], where: str = "") -> dict[str, Any]:
    """Return the fields of a dataclass that `encode` wrote, each checked against its type.

    Fields that this version does not know are left out, and so is null where the type has none: both have the default.
    Null for a number without a default is NaN.
    Raises TypeError or ValueError that name the place.
    """
    hints, result = _hints(kind), {}
    for field in dataclasses.fields(kind):
        needed = hints[field.name] is float and field.default is dataclasses.MISSING
        if field.name in value and (value[field.name] is not None or _nullable(hints[field.name]) or needed):
            result[field.name] = decode(hints[field.name], value[field.name], f"{where}.{field.name}".strip("."))
    return result


def decode(hint: Any, value: Json, where: str) -> Any:
    """Return the value that `encode` wrote as JSON, checked against its type.

    Raises TypeError or ValueError that name the place.
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _one_of(parts, value, where)
    if origin is tuple:
        return _tuple(parts, value, where)
    if hint is float and value is None:
        # JSON has no NaN: `finite` wrote null.
        return math.nan
    if hint in (int, float, str, bool):
        number = float(value) if hint is float and type(value) is int else value
        if type(number) is not hint:
            raise TypeError(f"{where} is {value!r}, which is not of the type {hint.__name__}")
        return number
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint(value)
    if hint is Line:
        return _line(value, where)
    if not isinstance(value, Mapping):
        raise TypeError(f"{where} is {value!r}, which is not an object")
    if origin is Mapping:
        return {str(key): decode(parts[1], found, f"{where}.{key}") for key, found in value.items()}
    if hasattr(hint, "from_json"):
        return hint.from_json(value)
    return hint(**fields_of(hint, value, where))


def _line(value: Json, where: str) -> Line:
    if not isinstance(value, str):
        raise TypeError(f"{where} is {value!r}, which is not a text")
    try:
        return Line(value)
    except ControlCharacterError as error:
        raise ControlCharacterError(f"{where} {error}") from None


def _nullable(hint: Any) -> bool:
    return hint is Any or NoneType in get_args(hint)


def _one_of(parts: tuple[Any, ...], value: Json, where: str) -> Any:
    """Return a value of a union of types: of exactly its own type if that is a member, else of the first."""
    if value is None and NoneType in parts:
        return None
    some = [part for part in parts if part is not NoneType]
    return decode(next((each for each in some if each is type(value)), some[0]), value, where)


def _tuple(parts: tuple[Any, ...], value: Json, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{where} is {value!r}, which is not a list")
    if len(parts) == 2 and parts[1] is Ellipsis:
        return tuple(decode(parts[0], each, f"{where}[{index}]") for index, each in enumerate(value))
    if len(parts) != len(value):
        raise ValueError(f"{where} has {len(value)} members, not {len(parts)}")
    return tuple(decode(part, each, where) for part, each in zip(parts, value, strict=True))


def _hints(kind: type[Any]) -> Mapping[str, Any]:
    if kind not in _SEEN:
        _SEEN[kind] = get_type_hints(kind)
    return _SEEN[kind]


_SEEN: dict[type[Any], Mapping[str, Any]] = {}
"""Types of the fields of values that were read before: finding them takes a while."""
