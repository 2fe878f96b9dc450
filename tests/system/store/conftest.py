"""Stores for the tests of this folder."""

import pytest
from tests.directories import use_directories
from tests.postgresql import database
from tests.support.open_store import store  # noqa: F401

pytest.register_assert_rewrite("tests.suites")


@pytest.fixture
def location(postgresql_server, tmp_path, monkeypatch):
    """Return an empty store of a PostgreSQL server."""
    use_directories(monkeypatch, tmp_path)
    return database(postgresql_server)
