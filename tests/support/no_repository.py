"""A fixture for tests that must not start git: no directory is in a repository."""

import pytest

from becalm.errors import UsageError
from becalm.study import repository


def outside_of_repositories(patch):
    """Answer every question to git as git does outside of a repository, until the patch is undone."""

    def refuse(directory, *words, **options):
        raise UsageError(f"git {words[0]}: fatal: not a git repository (or any of the parent directories): .git")

    patch.setattr(repository, "_git", refuse)


@pytest.fixture
def no_repository(monkeypatch):
    """Answer as outside of a repository during a test."""
    outside_of_repositories(monkeypatch)
