"""Fixtures for tests of the store itself: an empty one, and the same opened."""

import pytest
from tests.directories import use_directories

from becalm.store import Store


@pytest.fixture
def location(tmp_path, monkeypatch):
    """Return an empty store in a file."""
    return use_directories(monkeypatch, tmp_path)


@pytest.fixture
def store(location):
    with Store.open(location) as opened:
        yield opened
