"""The public names of the package are there, and the three lists of them agree."""

import ast

import pytest
from tests.places import ROOT

import becalm


@pytest.mark.parametrize("name", becalm.__all__)
def test_every_public_name_is_there(name):
    assert getattr(becalm, name) is not None


def test_type_checkers_see_the_names_where_they_are_loaded_from():
    """`if TYPE_CHECKING` in the package's root names the same modules as its table."""
    tree = ast.parse((ROOT / "python/becalm/__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {each.name: node.module for node in block.body for each in node.names}
    assert seen == becalm._HOMES
    assert set(becalm.__all__) == {*seen, "__version__"}
