"""The public names of the package are there, and type checkers see the same ones."""

import ast

import pytest
from tests.places import ROOT

import becalm


@pytest.mark.parametrize("name", becalm.__all__)
def test_every_public_name_is_there(name):
    assert getattr(becalm, name) is not None


def imported(nodes):
    """Return the names that statements import, with their modules."""
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module != "__future__"]
    return {name.asname or name.name: node.module for node in imports for name in node.names}


def test_type_checkers_see_the_names_where_they_are_loaded_from():
    """`if TYPE_CHECKING` in the package's root takes all from a module that names the same modules as the tables."""
    root, names = (
        ast.parse((ROOT / "python/becalm" / name).read_text()) for name in ("__init__.py", "public_names.py")
    )
    (block,) = (node for node in root.body if isinstance(node, ast.If))
    assert imported(block.body) == {"*": "becalm.public_names"}
    assert imported(names.body) == becalm._homes()
    assert set(becalm.__all__) == {*becalm._homes(), "__version__"}
