"""The fixtures of contract tests: an agent for each test, and a directory that looks like a machine."""

import pytest
from tests.machine_fixtures import agent, gate, marker, own_directories  # noqa: F401
from tests.support.laptop import changed, laptop, snapshot, strays
from tests.waiting import wait_for

from becalm.study import session


@pytest.fixture
def tree(tmp_path):
    """Return a directory that looks like a machine, which is to be as it was at the end of the test."""
    root = laptop(tmp_path / "tree")
    before = snapshot(root)
    yield root
    wait_for(lambda: not changed(before, snapshot(root)) and not strays(root), "the tree is as before")


@pytest.fixture(autouse=True)
def delays_left_alone(monkeypatch):
    """Leave this machine's delay accounting as it is: sessions of all workers would switch it at the same time."""
    monkeypatch.setattr(session, "lacks_delays", lambda host: False)
