"""A check that an imported value conforms to its type at all depths.

Stricter than the types: whole numbers fit into 64 bits, as every store keeps them; numbers are finite, except for ends
of intervals, where `finite` is False; and texts can be written to a file, which a lone surrogate cannot.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

WORD = 2**63
_WORDS: Mapping[type, str] = {
    int: "a whole number", float: "a number", str: "a string", bool: "true or false", NoneType: "null",
}  # fmt: skip

DEEPEST = 100
"""The deepest nesting of a value of type Any, such as facts or a verdict; those of becalm have ten levels."""


def conform(hint: Any, value: Any, where: str, *, finite: bool = True) -> None:
    """Raise ValueError with the path `where` if a value is not of the type `hint`."""
    if hint is int and type(value) is int and -WORD <= value < WORD:
        return  # A shortcut, since most values are numbers of runs.
    origin, parts = _origin_and_arguments(hint)
    if hint is Any:
        _check_json(value, where, DEEPEST)
    elif origin in (Union, UnionType):
        _conform_union(parts, value, where, finite)
    elif origin is tuple:
        _conform_tuple(parts, value, where, finite)
    elif origin is not None and issubclass(origin, Sequence):
        _check(isinstance(value, (list, tuple)), value, where, "not a list")
        for index, member in enumerate(value):
            conform(parts[0], member, f"{where}[{index}]", finite=finite)
    elif origin is not None and issubclass(origin, Mapping):
        _check(isinstance(value, Mapping), value, where, "not an object")
        for key, member in value.items():
            conform(parts[0], key, f"a name in {where}")
            conform(parts[1], member, f"{where}.{key}", finite=finite)
    elif hint in (int, float, str, bool, NoneType):
        _scalar(hint, value, where, finite)
    elif hint is bytes:
        _check(isinstance(value, bytes), value, where, "not bytes")
    elif isinstance(hint, type) and issubclass(hint, StrEnum):
        _check(isinstance(value, hint), value, where, f"not of the type {hint.__name__}")
    else:
        _check(isinstance(value, hint), value, where, f"not of the type {hint.__name__}")
        for name, member in _fields(hint).items():
            conform(member, getattr(value, name), f"{where}.{name}", finite=finite)


def _scalar(hint: type, value: Any, where: str, finite: bool = True) -> None:
    fits = type(value) is hint or (hint is float and type(value) is int) or (hint is str and isinstance(value, str))
    _check(fits, value, where, f"not {_WORDS[hint]}")
    if type(value) is int:
        _check(-WORD <= value < WORD, value, where, "too large for 64 bits")
    elif isinstance(value, float):
        _check(math.isfinite(value) or not finite, value, where, "not a number")
    elif isinstance(value, str):
        try:
            os.fsencode(value)
        except UnicodeEncodeError:
            raise ValueError(f"{where} is {value!r:.80}, which cannot be encoded in UTF-8") from None


def _conform_union(parts: tuple[Any, ...], value: Any, where: str, finite: bool) -> None:
    if value is None and NoneType in parts:
        return None
    last_error = None
    for part in parts:
        try:
            return conform(part, value, where, finite=finite)
        except ValueError as error:
            last_error = last_error if part is NoneType else error
    raise last_error or ValueError(f"{where} cannot be {value!r:.80}")


def _conform_tuple(parts: tuple[Any, ...], value: Any, where: str, finite: bool) -> None:
    _check(isinstance(value, tuple), value, where, "not a list")
    if len(parts) == 2 and parts[1] is Ellipsis:
        parts = (parts[0],) * len(value)
    _check(len(parts) == len(value), value, where, f"not a list of {len(parts)}")
    for index, (part, member) in enumerate(zip(parts, value, strict=True)):
        conform(part, member, f"{where}[{index}]", finite=finite)


def _check_json(value: Any, where: str, deep: int) -> None:
    """Check that a value is JSON with at most `deep` levels."""
    _check(deep > 0, "…", where, "nested too deeply")
    if isinstance(value, Mapping):
        for key, member in value.items():
            _scalar(str, key, f"a name in {where}")
            _check_json(member, f"{where}.{key}", deep - 1)
    elif isinstance(value, (list, tuple)):
        for index, member in enumerate(value):
            _check_json(member, f"{where}[{index}]", deep - 1)
    elif value is not None:
        _check(isinstance(value, (bool, int, float, str)), value, where, "not JSON")
        _scalar(type(value), value, where)


def _check(good: bool, value: Any, where: str, fault: str) -> None:
    if not good:
        raise ValueError(f"{where} is {value!r:.80}, which is {fault}")


@cache
def _origin_and_arguments(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(hint), get_args(hint)


@cache
def _fields(kind: type) -> Mapping[str, Any]:
    """Return the types of the fields of a value or named tuple, by name."""
    hints = get_type_hints(kind)
    if issubclass(kind, msgspec.Struct):
        return {name: hints[name] for name in kind.__struct_fields__}
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else hints
    return {name: hints[name] for name in names}
