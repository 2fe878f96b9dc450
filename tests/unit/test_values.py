"""Frozen values whose methods are written late are the standard library's in all that can be seen of them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, field, replace
from typing import Any

import pytest

from becalm import values


def base(dataclass: Callable[..., Any]) -> type[Any]:
    """Return a class with each kind of field."""

    @dataclass(frozen=True, slots=True)
    class Reading:
        """A reading."""

        source: str
        value: float | None
        unit: str = "s"
        notes: list[str] = field(default_factory=list)
        at: int = field(default=0, compare=False)
        raw: bytes = field(default=b"", repr=False)
        extra: Mapping[str, int] = field(default_factory=dict, hash=False)
        order: int = field(default=7, init=False)
        named: int = field(default=1, kw_only=True)

        def __post_init__(self) -> None:
            if self.source == "none":
                raise ValueError("A reading has a source.")

    return Reading


def heir(dataclass: Callable[..., Any]) -> type[Any]:
    """Return a class that inherits, takes its fields by name, and defines its own equality."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Late(base(dataclass)):  # type: ignore[misc]
        """A reading of later."""

        late: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Late)

        def __repr__(self) -> str:
            return "late"

    return Late


OURS, THEIRS = base(values.dataclass), base(dataclasses.dataclass)
HEIR, THEIR_HEIR = heir(values.dataclass), heir(dataclasses.dataclass)


@values.dataclass(frozen=True, slots=True)
class One:
    """A class with one field, and a name that pickle finds."""

    number: float


@values.dataclass(frozen=True, slots=True)
class Nothing:
    """No field."""


GIVEN: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("clock", 1.5), {}),
    (("clock", None, "ms", ["a"], 3, b"x", {"k": 1}), {"named": 2}),
    (("clock",), {"value": 2.0, "unit": "ns"}),
]
REFUSED: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    (("clock",), {}),
    (("clock", 1.0, "s", [], 0, b"", {}, 5), {}),
    (("clock", 1.0), {"order": 3}),
    (("clock", 1.0), {"source": "twice"}),
    (("none", 1.0), {}),
]


@pytest.mark.parametrize(("arguments", "named"), GIVEN)
def test_alike(arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    """The same arguments give the same fields, the same text and the same dictionary, from the first instance on."""
    fresh, theirs = base(values.dataclass), THEIRS(*arguments, **named)
    for ours in [fresh(*arguments, **named) for _ in range(values.FEW + 2)]:
        assert repr(ours).replace("base.<locals>.", "") == repr(theirs).replace("base.<locals>.", "")
        assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
        assert dataclasses.asdict(replace(ours, unit="h")) == dataclasses.asdict(replace(theirs, unit="h"))
        assert ours.order == 7


def test_the_first_instances_have_nothing_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods that take longer to write than some instances take to fill are written for classes that have more
    instances."""
    written: list[type[Any]] = []
    real = values._compiled_init

    def noted(cls: type[Any]) -> Callable[..., None]:
        written.append(cls)
        return real(cls)

    monkeypatch.setattr(values, "_compiled_init", noted)
    fresh = base(values.dataclass)
    for number in range(values.FEW + 2):
        fresh("clock", 1.5)
        assert written == ([fresh] if number >= values.FEW else [])


@pytest.mark.parametrize(("arguments", "named"), REFUSED)
def test_refused_alike(arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    """The standard library's refusals have the same words here, for the first instance and for those after it."""
    with pytest.raises((TypeError, ValueError)) as theirs:
        THEIRS(*arguments, **named)
    fresh = base(values.dataclass)
    for _ in range(values.FEW + 2):
        with pytest.raises(type(theirs.value)) as ours:
            fresh(*arguments, **named)
        assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    ("ours", "theirs"), [(OURS, THEIRS), (HEIR, THEIR_HEIR)], ids=["fields of each kind", "inherited"]
)
def test_described_alike(ours: type[Any], theirs: type[Any]) -> None:
    """Signatures, fields, patterns and slots, before there is an instance."""
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert [(f.name, f.type, f.kw_only) for f in dataclasses.fields(ours)] == [
        (f.name, f.type, f.kw_only) for f in dataclasses.fields(theirs)
    ]
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__slots__ == theirs.__slots__
    assert ours.__doc__ == theirs.__doc__


@pytest.mark.parametrize("pair", [base(values.dataclass), base(dataclasses.dataclass)], ids=["ours", "theirs"])
def test_compared(pair: type[Any]) -> None:
    """Fields that are not compared do not count, other classes are never equal, and NaN is what it is in a tuple."""
    nan = float("nan")
    assert pair("a", 1.0, at=1) == pair("a", 1.0, at=2)
    assert pair("a", 1.0) != pair("a", 1.0, raw=b"y")
    assert pair("a", 1.0) != ("a", 1.0)
    assert pair("a", nan) == pair("a", nan)
    with pytest.raises(TypeError):
        hash(pair("a", 1.0))
    assert hash(pair("a", 1.0, notes=(), at=1)) == hash(pair("a", 1.0, notes=(), at=2))


def test_own_methods_stay() -> None:
    """A class's own methods are left, and a class with its own equality has a hash as in the standard library."""
    assert repr(HEIR(source="a", value=1.0, late=1)) == "late"
    assert HEIR(source="a", value=1.0, late=1) == HEIR(source="b", value=2.0, late=2)
    assert (HEIR.__hash__ is None) == (THEIR_HEIR.__hash__ is None)


def test_frozen() -> None:
    """Nothing is assigned or deleted, field or not."""
    value = One(1.0)
    for name in ("number", "other"):
        with pytest.raises(FrozenInstanceError, match=name):
            setattr(value, name, 2.0)
        with pytest.raises(FrozenInstanceError, match=name):
            delattr(value, name)


@pytest.mark.parametrize("value", [One(2.5), Nothing()], ids=repr)
def test_kept_by_others(value: Any) -> None:
    """Pickled, copied, in a set: the same value."""
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == copy.copy(value) == value
    assert len({value, copy.copy(value)}) == 1


@pytest.mark.parametrize("first", [values.dataclass, dataclasses.dataclass], ids=["ours first", "theirs first"])
def test_of_both_kinds(first: Callable[..., Any]) -> None:
    """A value of a program's own that inherits from one of ours is frozen as ours is, and the other way round."""
    second = dataclasses.dataclass if first is values.dataclass else values.dataclass

    @first(frozen=True, slots=True)
    class Root:
        """The first."""

        number: int

    @second(frozen=True, slots=True)
    class Heir(Root):
        """A class that inherits."""

        more: int = 2

    value = Heir(1)
    assert value == Heir(1, 2)
    assert copy.copy(value) == value
    assert len({value, Heir(1)}) == 1
    with pytest.raises(FrozenInstanceError, match="number"):
        value.number = 3
    with pytest.raises(TypeError, match="frozen"):
        dataclasses.dataclass(type("Open", (Root,), {}))


def test_default_lists_are_not_shared() -> None:
    """A factory is asked for each instance."""
    assert OURS("a", 1.0).notes is not OURS("a", 1.0).notes


def test_anything_else_is_the_standard_library() -> None:
    """Values that are not frozen, or have no slots, are made as ever."""

    @values.dataclass(slots=True)
    class Open:
        """Can be changed."""

        number: int = 1

    value = Open()
    value.number = 2
    assert value == Open(2)
