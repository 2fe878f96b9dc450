"""A fixture for tests that must not start git: no directory is in a repository."""

import pytest

from becalm.errors import UsageError
from becalm.study import repository


@pytest.fixture
def no_repository(monkeypatch):
    """Answer every question to git as git does outside of a repository."""

    def refuse(directory, *words, **options):
        raise UsageError(f"git {words[0]}: fatal: not a git repository (or any of the parent directories): .git")

    monkeypatch.setattr(repository, "_git", refuse)
