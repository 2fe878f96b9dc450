"""A replacement for `dataclasses.dataclass` that writes the methods of frozen classes only when they are used.

The standard decorator generates and compiles source text for each of six methods of a class, which takes half a
millisecond with Python 3.11. The start of a comparison defines some 140 classes and creates instances of only a few.
Here comparing, hashing and representing are one closure each, and `__init__` is compiled only when a class has had some
instances; of most classes there is one. Nothing else differs: fields, `replace`, `asdict`, `match`, pickles,
signatures. tests/unit/test_values.py compares the two.

Only `frozen=True, slots=True`, with or without `kw_only` and `repr`, is handled here; any other request goes to the
standard library. Classes of both kinds can inherit from each other.
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

    def dataclass(cls=None, /, **options):
        """Decorate a class as `dataclasses.dataclass` does, with the same options."""
        if (
            {"frozen", "slots"} <= options.keys() <= {"frozen", "slots", "kw_only", "repr"}
            and options["frozen"]
            and options["slots"]
        ):
            return lambda decorated: _frozen(decorated, options.get("kw_only", False), options.get("repr", True))
        return dataclasses.dataclass(cls, **options)


def _frozen(cls: type[Any], kw_only: bool, with_repr: bool) -> type[Any]:
    attributes = cls.__dict__
    needs_eq, needs_hash = "__eq__" not in attributes, attributes.get("__hash__") is None
    # A method that refuses assignment takes two more generated texts; the standard library insists on it in classes
    # that inherit from frozen ones.
    inherits = any(dataclasses.is_dataclass(base) for base in cls.__mro__[1:])
    frozen: Any = dataclasses.dataclass(init=False, repr=False, eq=False, frozen=inherits, slots=True, kw_only=kw_only)(
        cls
    )
    frozen.__dataclass_params__.frozen = True
    fields = dataclasses.fields(frozen)
    for name, method in (("__repr__", _repr), ("__getstate__", _state), ("__setstate__", _set_state)):
        if name not in attributes and (with_repr or name != "__repr__"):
            setattr(frozen, name, method)
    frozen.__setattr__, frozen.__delattr__ = _assign, _delete
    if needs_eq:
        frozen.__eq__ = _equality(_values(field.name for field in fields if field.compare))
    if needs_hash:
        frozen.__hash__ = _hashing(_values(f.name for f in fields if (f.compare if f.hash is None else f.hash)))
    if "__init__" not in attributes:
        frozen.__init__, frozen.__signature__ = _lazy_init(frozen), _Signature()
    result: type[Any] = frozen
    return result


def _values(field_names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function that takes the tuple of these fields from an instance."""
    names = tuple(field_names)
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
    values = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _assign(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


FEW = 8
"""The number of instances initialised field by field before `__init__` is compiled, which takes as long as filling 18
to 43."""


def _lazy_init(cls: Any) -> Callable[..., None]:
    remaining = FEW

    def __init__(self: Any, *positional: Any, **keywords: Any) -> None:
        nonlocal remaining
        remaining -= 1
        if remaining < 0 or not _fill_fields(self, cls, positional, keywords):
            # Python itself reports what is wrong with the arguments when the compiled function gets them.
            cls.__init__ = _compiled_init(cls)
            cls.__init__(self, *positional, **keywords)
        elif hasattr(cls, "__post_init__"):
            self.__post_init__()

    return __init__


def _fill_fields(self: Any, cls: Any, positional: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Set the fields of an instance; return False when the arguments do not fit them."""
    fields = dataclasses.fields(cls)
    names = [field.name for field in fields if field.init and not field.kw_only]
    arguments = dict(zip(names, positional, strict=False))
    if len(positional) > len(names) or arguments.keys() & keywords.keys():
        return False
    arguments |= keywords
    for field in fields:
        if field.init and field.name in arguments:
            value = arguments.pop(field.name)
        elif field.default is not dataclasses.MISSING:
            value = field.default
        elif field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        elif field.init:
            return False
        else:
            continue
        getattr(cls, field.name).__set__(self, value)
    return not arguments


class _Signature:
    """The descriptor that gives `inspect.signature` the parameters of `__init__` before that is compiled."""

    def __get__(self, instance: object, owner: type[Any]) -> Signature:
        import inspect

        signature = inspect.signature(_compiled_init(owner))
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def _compiled_init(cls: Any) -> Callable[..., None]:
    """Return the real `__init__` of a class, as a function of its fields."""
    variables: dict[str, Any] = {}
    parameters, keyword_only, lines = ["self"], list[str](), list[str]()
    for field in dataclasses.fields(cls):
        name, default, factory = field.name, field.default, field.default_factory
        variables[f"set_{name}"] = getattr(cls, name).__set__
        value = name
        if default is not dataclasses.MISSING:
            variables[f"default_{name}"] = default
        elif factory is not dataclasses.MISSING:
            variables[f"default_{name}"], variables[f"factory_{name}"] = _FACTORY, factory
            value = f"factory_{name}() if {name} is default_{name} else {name}" if field.init else f"factory_{name}()"
        if field.init:
            has_default = f"default_{name}" in variables
            (keyword_only if field.kw_only else parameters).append(f"{name}=default_{name}" if has_default else name)
        elif factory is dataclasses.MISSING:
            if default is dataclasses.MISSING:
                continue
            value = f"default_{name}"
        lines.append(f"  set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("  self.__post_init__()")
    parameters += ["*", *keyword_only] if keyword_only else []
    names = ", ".join(variables)
    text = f"def define({names}):\n def __init__({', '.join(parameters)}):\n" + "\n".join(lines or ["  pass"])
    namespace: dict[str, Any] = {}
    exec(text + "\n return __init__", {}, namespace)
    method: Any = namespace["define"](**variables)
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    method.__annotations__ = {field.name: field.type for field in dataclasses.fields(cls) if field.init} | {
        "return": None
    }
    result: Callable[..., None] = method
    return result


class _Factory:
    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()
