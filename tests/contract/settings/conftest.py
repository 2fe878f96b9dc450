"""A laptop's tree for each test, a home directory, and becalm's command line."""

import pytest
from tests.support.command_line import becalm, home  # noqa: F401
from tests.support.laptop import changed, laptop, snapshot, strays
from tests.support.memory_directory import tmp_path  # noqa: F401

from becalm.verbs.settings import reset


@pytest.fixture
def root(tmp_path, home):  # noqa: F811
    """Return a tree; after the test it is as it was."""
    tree = laptop(tmp_path / "root")
    before = snapshot(tree)
    yield tree
    reset(root=str(tree))
    assert changed(before, snapshot(tree)) == {}
    assert strays(tree) == []
