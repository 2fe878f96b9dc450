"""The public names of the package are there, and the three lists of them agree."""

import ast

import pytest
from tests.places import ROOT

import becalm


@pytest.mark.parametrize("name", becalm.__all__)
def test_every_public_name_is_there(name):
    assert getattr(becalm, name) is not None


def seen(path):
    """Return the names that a module imports for type checkers, by module."""
    tree = ast.parse((ROOT / "python/becalm" / path).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {name.asname or name.name: node.module for node in block.body for name in node.names}


def test_type_checkers_see_the_names_where_they_are_loaded_from():
    """`if TYPE_CHECKING` in the package's root and in that of the verbs name the same modules as the tables."""
    names = {**seen("__init__.py"), **seen("verbs/__init__.py")}
    assert names.pop("*") == "becalm.verbs"
    assert names == becalm._homes()
    assert set(becalm.__all__) == {*names, "__version__"}
