"""The same store tests over SQLite and over a real PostgreSQL server."""

import pytest
from tests.postgresql import database

from becalm.store import Store


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def location(request, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    return database(request.getfixturevalue("postgresql_server"))


@pytest.fixture
def store(location):
    with Store.open(location) as opened:
        yield opened
