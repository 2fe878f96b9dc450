"""Conversion of values to JSON and back, with strings that are not UTF-8 and numbers that JSON lacks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import inspect

Json = Any
"""A value that `json` can write."""


LowBound = Annotated[float, msgspec.Meta(extra={"null": -math.inf})]
HighBound = Annotated[float, msgspec.Meta(extra={"null": math.inf})]
"""The ends of an interval, which JSON lacks where they are infinite."""

Kind = TypeVar("Kind")


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


def plain(value: Any) -> Json:
    """Return a value as JSON: by its `to_json` method if it has one, else member by member.

    NaN and infinity, which JSON lacks, become null.
    """
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, msgspec.Struct):
        return plain_dict(value)
    if isinstance(value, Mapping):
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    raise TypeError(f"{value!r} has no JSON form")


def plain_dict(value: msgspec.Struct) -> dict[str, Json]:
    """Return the fields of a value as JSON, by name.

    Its class may list properties that are members, too, as DERIVED, and fields that are not, as OMITTED.
    """
    kind = type(value)
    derived, omitted = getattr(kind, "DERIVED", ()), getattr(kind, "OMITTED", ())
    names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    members = {name: json_name for name, json_name in names.items() if name not in omitted}
    return {json_name: plain(getattr(value, name)) for name, json_name in members.items()} | {
        name: plain(getattr(value, name)) for name in derived
    }


def decode(kind: type[Kind], value: Json) -> Kind:
    """Return the value of a type that `plain` wrote, checked by msgspec.

    Unknown members are left out. A null for a field with a default but without None is left out, too; another null for
    a number is NaN, or the number of its type (LowBound, HighBound). A type within it is read by its `from_json` method
    if it has one. Raises ValueError with the path, and the errors of these methods.
    """
    info = _type_info(kind)
    filled = _members(info, value) if isinstance(info, _FIELDS) and isinstance(value, Mapping) else _filled(info, value)
    return msgspec.convert(filled, kind, dec_hook=_of_text)


_FIELDS = (inspect.StructType, inspect.DataclassType)
_type_info: Callable[[Any], Any] = cache(inspect.type_info)


def _of_text(kind: type, text: Json) -> Any:
    """Return the value of a subclass of str, such as Line."""
    return kind(text)


def _members(info: Any, value: Mapping[str, Json]) -> dict[str, Any]:
    return {
        field.encode_name: _filled(field.type, member)
        for field in info.fields
        if (member := value.get(field.encode_name, _ABSENT)) is not _ABSENT
        and (member is not None or field.required or _nullable(field.type))
    }


_ABSENT = object()


def _filled(info: inspect.Type, value: Json) -> Any:
    """Return a JSON value with the numbers that nulls stand for, and with the values of types that read themselves."""
    if isinstance(info, inspect.Metadata):
        return info.extra["null"] if value is None and info.extra else _filled(info.type, value)
    if value is None:
        return math.nan if isinstance(info, inspect.FloatType) else None
    if isinstance(info, inspect.UnionType):
        return _filled(next(part for part in info.types if not isinstance(part, inspect.NoneType)), value)
    if isinstance(value, Mapping):
        if isinstance(info, _FIELDS):
            return info.cls.from_json(value) if hasattr(info.cls, "from_json") else _members(info, value)
        if isinstance(info, inspect.DictType):
            return {key: _filled(info.value_type, member) for key, member in value.items()}
    elif isinstance(value, (list, tuple)):
        if isinstance(info, inspect.VarTupleType):
            return [_filled(info.item_type, member) for member in value]
        if isinstance(info, inspect.TupleType) and len(info.item_types) == len(value):
            return [_filled(part, member) for part, member in zip(info.item_types, value, strict=True)]
    return value


def _nullable(info: inspect.Type) -> bool:
    if isinstance(info, inspect.Metadata):
        return bool(info.extra) or _nullable(info.type)
    return isinstance(info, inspect.AnyType) or (isinstance(info, inspect.UnionType) and info.includes_none)
