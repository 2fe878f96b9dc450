"""Frozen values whose methods cost nothing until they are used: `dataclass` here is the standard library's.

The standard decorator writes, compiles and runs a text for each of six methods of a class: half a millisecond with
Python 3.11, and the start of a comparison makes some 140 classes, most of which it never has an instance of. Here
comparing, hashing and showing are one closure each, and `__init__` is written when a class has had some instances: of
most there is one. Nothing else differs: fields, `replace`, `asdict`, `match`, pickles, signatures.
tests/unit/test_values.py holds both side by side.

Only `frozen=True, slots=True` is made here, with or without `kw_only` and `repr`; any other request goes to the
standard library.
Classes of both kinds inherit from each other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from inspect import Signature
else:

    def dataclass(cls=None, /, **asked):
        """Decorate as `dataclasses.dataclass`, which has the options."""
        if (
            {"frozen", "slots"} <= asked.keys() <= {"frozen", "slots", "kw_only", "repr"}
            and asked["frozen"]
            and asked["slots"]
        ):
            return lambda made: _frozen(made, asked.get("kw_only", False), asked.get("repr", True))
        return dataclasses.dataclass(cls, **asked)


def _frozen(cls: type[Any], kw_only: bool, shown: bool) -> type[Any]:
    own = cls.__dict__
    equal, hashed = "__eq__" not in own, own.get("__hash__") is None
    # What refuses to be assigned takes two more texts; the standard library insists on them in heirs of frozen values.
    heir = any(dataclasses.is_dataclass(each) for each in cls.__mro__[1:])
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, frozen=heir, slots=True, kw_only=kw_only)(cls)
    made.__dataclass_params__.frozen = True
    fields = dataclasses.fields(made)
    for name, method in (("__repr__", _repr), ("__getstate__", _state), ("__setstate__", _set_state)):
        if name not in own and (shown or name != "__repr__"):
            setattr(made, name, method)
    made.__setattr__, made.__delattr__ = _assign, _delete
    if equal:
        made.__eq__ = _equality(_values(field.name for field in fields if field.compare))
    if hashed:
        made.__hash__ = _hashing(_values(f.name for f in fields if (f.compare if f.hash is None else f.hash)))
    if "__init__" not in own:
        made.__init__, made.__signature__ = _unwritten(made), _Signature()
    result: type[Any] = made
    return result


def _values(given: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function that takes the tuple of these fields out of an instance."""
    names = tuple(given)
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _equality(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], Any]:
    def __eq__(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hashing(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _assign(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


FEW = 8
"""The number of instances initialised field by field before `__init__` is compiled, which takes as long as filling 18
to 43."""


def _unwritten(cls: Any) -> Callable[..., None]:
    left = FEW

    def __init__(self: Any, *given: Any, **named: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0 or not _filled(self, cls, given, named):
            # What is wrong with the arguments is said by Python itself, of a function that has them.
            cls.__init__ = _written(cls)
            cls.__init__(self, *given, **named)
        elif hasattr(cls, "__post_init__"):
            self.__post_init__()

    return __init__


def _filled(self: Any, cls: Any, given: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Give an instance its fields; False when these are not the arguments for that."""
    fields = dataclasses.fields(cls)
    taken = [field.name for field in fields if field.init and not field.kw_only]
    rest = dict(zip(taken, given, strict=False))
    if len(given) > len(taken) or rest.keys() & named.keys():
        return False
    rest |= named
    for field in fields:
        if field.init and field.name in rest:
            value = rest.pop(field.name)
        elif field.default is not dataclasses.MISSING:
            value = field.default
        elif field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        elif field.init:
            return False
        else:
            continue
        getattr(cls, field.name).__set__(self, value)
    return not rest


class _Signature:
    """The signature for `inspect.signature`: that of the method which the first instance will have."""

    def __get__(self, instance: object, owner: type[Any]) -> Signature:
        import inspect

        written = inspect.signature(_written(owner))
        return written.replace(parameters=list(written.parameters.values())[1:])


def _written(cls: Any) -> Callable[..., None]:
    """Return the real `__init__` of a class, as a function of its fields."""
    known: dict[str, Any] = {}
    taken, only_named, lines = ["self"], list[str](), list[str]()
    for field in dataclasses.fields(cls):
        name, default, made = field.name, field.default, field.default_factory
        known[f"set_{name}"] = getattr(cls, name).__set__
        value = name
        if default is not dataclasses.MISSING:
            known[f"default_{name}"] = default
        elif made is not dataclasses.MISSING:
            known[f"default_{name}"], known[f"made_{name}"] = _MADE, made
            value = f"made_{name}() if {name} is default_{name} else {name}" if field.init else f"made_{name}()"
        if field.init:
            has = f"default_{name}" in known
            (only_named if field.kw_only else taken).append(f"{name}=default_{name}" if has else name)
        elif made is dataclasses.MISSING:
            if default is dataclasses.MISSING:
                continue
            value = f"default_{name}"
        lines.append(f"  set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("  self.__post_init__()")
    taken += ["*", *only_named] if only_named else []
    names = ", ".join(known)
    text = f"def given({names}):\n def __init__({', '.join(taken)}):\n" + "\n".join(lines or ["  pass"])
    space: dict[str, Any] = {}
    exec(text + "\n return __init__", {}, space)
    written: Any = space["given"](**known)
    written.__qualname__ = f"{cls.__qualname__}.__init__"
    written.__annotations__ = {field.name: field.type for field in dataclasses.fields(cls) if field.init} | {
        "return": None
    }
    result: Callable[..., None] = written
    return result


class _Made:
    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Made()
