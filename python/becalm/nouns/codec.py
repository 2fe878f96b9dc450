"""Conversion of values to JSON and back, with strings that are not UTF-8 and numbers that JSON lacks."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from becalm.line import ControlCharacterError, Line

Json = Any
"""A value that `json` can write."""


class Null(NamedTuple):
    """The number for which a null stands in JSON, as metadata of a type; without it that is NaN."""

    number: float


LowBound = Annotated[float, Null(-math.inf)]
HighBound = Annotated[float, Null(math.inf)]
"""The ends of an interval, which JSON lacks where they are infinite."""


def wire(text: str | None) -> Json:
    """Return a string in the form of the protocol: itself, or {"hex": …} if it is not UTF-8, as a file name may be."""
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
    """Return a structure of dicts and lists with None in place of infinity and NaN, which JSON lacks."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, StrEnum):
        return str(value)
    return value


def plain(value: Any) -> Json:
    """Return a value in types that JSON has: fields of frozen values by name."""
    return msgspec.to_builtins(value, enc_hook=_plain, str_keys=True)


def plain_dict(value: Any) -> dict[str, Any]:
    """Return the fields of a frozen value by name, with the values within it as dicts, too."""
    result: dict[str, Any] = plain(value)
    return result


def finite_dict(value: Any) -> dict[str, Any]:
    """Return `plain_dict` of a value with None in place of infinity and NaN."""
    result: dict[str, Any] = finite(plain_dict(value))
    return result


def _plain(value: object) -> Any:
    """Return a value of a subclass of a built-in type, which msgspec leaves to its callers, as that type."""
    for kind in (str, float, int):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} has no JSON form")


def field_names(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a Struct or a dataclass, or of an instance of one."""
    if isinstance(kind, msgspec.Struct) or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return kind.__struct_fields__
    return tuple(field.name for field in dataclasses.fields(kind))


def is_value(value: object) -> bool:
    """Return whether an object is an instance of a Struct or a dataclass."""
    return isinstance(value, msgspec.Struct) or (dataclasses.is_dataclass(value) and not isinstance(value, type))


def encode(value: Any) -> Json:
    """Return a frozen value as JSON: by its `to_json` method if it has one, else field by field."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_value(value):
        return {name: encode(getattr(value, name)) for name in field_names(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(member) for member in value]
    raise TypeError(f"{value!r} has no JSON form")


def fields_of(kind: type[Any], value: Mapping[str, Json], where: str = "") -> dict[str, Any]:
    """Return the fields of a frozen value that `encode` wrote, each checked against its type.

    Unknown fields are left out. A null for a type without None is left out, too, so that the default applies; for a
    number without a default it is NaN. `where`: the path of the value for errors. Raises ValueError with the path.
    """
    hints, needed, result = _hints(kind), _needed(kind), {}
    for name in field_names(kind):
        hint = hints[name]
        if name in value and (value[name] is not None or _nullable(hint) or (hint is float and name in needed)):
            result[name] = decode(hint, value[name], f"{where}.{name}".strip("."))
    return result


def _needed(kind: Any) -> set[str]:
    """Return the names of the fields without a default."""
    if issubclass(kind, msgspec.Struct):
        names, defaults = kind.__struct_fields__, kind.__struct_defaults__
        without = len(names) - len(defaults)
        return {*names[:without]} | {
            name for name, default in zip(names[without:], defaults, strict=True) if default is msgspec.NODEFAULT
        }
    return {field.name for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING}


def decode(hint: Any, value: Json, where: str) -> Any:
    """Return the value that `encode` wrote as JSON, checked against its type `hint`.

    `where`: the path of the value for errors. Raises ValueError with the path, and TypeError where a
    field is missing.
    """
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin is Annotated:
        means = next((part.number for part in parts[1:] if isinstance(part, Null)), math.nan)
        return means if value is None else decode(parts[0], value, where)
    if origin in (Union, UnionType):
        return _decode_union(parts, value, where)
    if origin is tuple:
        return _decode_tuple(parts, value, where)
    if hint is float and value is None:
        # JSON has no NaN: `finite` wrote null.
        return math.nan
    if hint in (int, float, str, bool):
        number = float(value) if hint is float and type(value) is int else value
        if type(number) is not hint:
            raise ValueError(f"{where} is {value!r}, which is not of the type {hint.__name__}")
        return number
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint(value)
    if hint is Line:
        return _decode_line(value, where)
    if not isinstance(value, Mapping):
        raise ValueError(f"{where} is {value!r}, which is not an object")
    if origin is Mapping:
        return {str(key): decode(parts[1], member, f"{where}.{key}") for key, member in value.items()}
    if hasattr(hint, "from_json"):
        return hint.from_json(value)
    return hint(**fields_of(hint, value, where))


def _decode_line(value: Json, where: str) -> Line:
    if not isinstance(value, str):
        raise ValueError(f"{where} is {value!r}, which is not a text")
    try:
        return Line(value)
    except ControlCharacterError as error:
        raise ControlCharacterError(f"{where} {error}") from None


def _nullable(hint: Any) -> bool:
    parts = get_args(hint)
    return hint is Any or NoneType in parts or any(isinstance(part, Null) for part in parts)


def _decode_union(parts: tuple[Any, ...], value: Json, where: str) -> Any:
    """Return a value of a union: decoded as its own type if that is a member, else as the first member."""
    if value is None and NoneType in parts:
        return None
    types = [part for part in parts if part is not NoneType]
    return decode(next((part for part in types if part is type(value)), types[0]), value, where)


def _decode_tuple(parts: tuple[Any, ...], value: Json, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{where} is {value!r}, which is not a list")
    if len(parts) == 2 and parts[1] is Ellipsis:
        if all(type(member) is parts[0] for member in value):
            # Hundreds of numbers need not be checked one by one.
            return tuple(value)
        return tuple(decode(parts[0], member, f"{where}[{index}]") for index, member in enumerate(value))
    if len(parts) != len(value):
        raise ValueError(f"{where} has {len(value)} members, not {len(parts)}")
    return tuple(decode(part, member, where) for part, member in zip(parts, value, strict=True))


def _hints(kind: type[Any]) -> Mapping[str, Any]:
    if kind not in _SEEN:
        _SEEN[kind] = get_type_hints(kind, include_extras=True)
    return _SEEN[kind]


_SEEN: dict[type[Any], Mapping[str, Any]] = {}
"""A cache of the field types of values, since resolving them is slow."""
