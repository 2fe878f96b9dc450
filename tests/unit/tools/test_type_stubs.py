"""The modules for type checkers are what the options and the tables of names give now."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Optional

import pytest
import type_stubs

import becalm
from becalm.nouns.option import option, options
from becalm.nouns.settings import Settings
from becalm.nouns.signature import takes


@pytest.mark.parametrize("name", type_stubs.MODULES)
def test_a_module_is_the_one_that_becalm_gives(name):
    path = type_stubs.PACKAGE / name
    assert path.read_text(encoding="utf-8") == type_stubs.MODULES[name](), f"{name} is behind: tools/type_stubs.py"


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "int"),
        (float | str | None, "float | str | None"),
        (Optional[str], "str | None"),  # noqa: UP045
        (Sequence[str | int], "Sequence[str | int]"),
        (Mapping[str, str | int] | Settings | None, "Mapping[str, str | int] | Settings | None"),
    ],
)
def test_a_type_is_written_as_in_source(annotation, text):
    assert type_stubs.source(annotation) == text


@pytest.mark.parametrize("annotation", ["int", Literal["a"], Any, Sequence["str"]])
def test_a_type_that_checkers_cannot_be_given_is_refused(annotation):
    with pytest.raises(TypeError, match="is no type that an option may have"):
        type_stubs.source(annotation)


def test_classes_are_imported_wherever_they_stand_in_a_type():
    assert set(type_stubs.classes(Sequence[Mapping[str, Settings]] | None)) == {Sequence, Mapping, Settings}
    assert set(type_stubs.classes(Settings)) == {Settings}
    assert set(type_stubs.classes(str | None)) == set()


@dataclass
class Near:
    """Options with one that a function has as a parameter, and one that it does not have."""

    alpha: int = option(1, "Alpha.", int)
    beta: str = option("", "Beta.", str)
    gamma: int = option(1, "Gamma.", int)
    delta_ns: int = option(1, "Delta.", float | str, name="delta")


@dataclass
class Far:
    """Options of which one is hidden by that of another class."""

    alpha: str = option("", "Alpha.", str)
    epsilon: bool = option(False, "Epsilon.", bool)


def test_a_function_takes_its_options_without_its_own_parameters():
    @takes(Near, Far, without=("beta",))
    def function(first: str, *, gamma: int = 1, **keywords: Any) -> None:
        """Do nothing."""

    near, far = type_stubs.parts_of(function)
    assert near == type_stubs.Part(Near, ("alpha", "delta"))
    assert far == type_stubs.Part(Far, ("epsilon",))
    assert near.title == "_NearWithoutBetaGamma"
    assert type_stubs.Part(Near, tuple(options(Near))).title == "_Near"


def test_a_part_inherits_from_the_largest_one_with_options_of_the_same_class():
    small, large = type_stubs.Part(Near, ("alpha",)), type_stubs.Part(Near, ("alpha", "beta"))
    whole, other = type_stubs.Part(Near, tuple(options(Near))), type_stubs.Part(Far, ("alpha",))
    assert whole.largest_of([small, other, large]) == large
    assert small.largest_of([large, other]) is None


def test_the_keywords_of_a_function_are_all_of_its_options_once():
    """Read from the text, as a type checker does: mypy accepts no key twice."""
    classes = {
        node.name: (
            [base.id for base in node.bases],
            [item.target.id for item in node.body if isinstance(item, ast.AnnAssign)],
        )
        for node in ast.parse(type_stubs.verb_keywords()).body
        if isinstance(node, ast.ClassDef)
    }

    def keys(name):
        bases, own = classes.get(name, ((), ()))
        return [*own, *(key for base in bases for key in keys(base))]

    parts = type_stubs.functions()
    assert set(parts) == {name for name in becalm.__all__ if hasattr(getattr(becalm, name), "option_kinds")}
    for name, own in parts.items():
        title = "".join(map(str.capitalize, name.split("_"))) + "Keywords"
        assert sorted(keys(title)) == sorted(key for part in own for key in part.names), name
