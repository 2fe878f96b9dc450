"""Stores for the tests of this folder."""

import pytest

from becalm.store import Store

pytest.register_assert_rewrite("tests.suites")


@pytest.fixture
def location(tmp_path, monkeypatch):
    """Return an empty store in a file."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return str(tmp_path / "runs.db")


@pytest.fixture
def store(location):
    with Store.open(location) as opened:
        yield opened
