"""Stores for the tests of this folder."""

import pytest
from tests.postgresql import database

from becalm.store import Store

pytest.register_assert_rewrite("tests.suites")


@pytest.fixture
def location(postgresql_server, tmp_path, monkeypatch):
    """Return an empty store of a PostgreSQL server."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return database(postgresql_server)


@pytest.fixture
def store(location):
    with Store.open(location) as opened:
        yield opened
