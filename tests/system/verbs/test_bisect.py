"""Searches of a git history that are stopped."""

import pytest
from tests.support.repositories import repository

import becalm
from becalm.errors import Interrupted
from becalm.study.builds import Builds


def test_stopped_while_a_commit_is_built_it_says_how_to_go_on(store, tmp_path, monkeypatch):
    names = repository(tmp_path / "app", 3)
    monkeypatch.chdir(tmp_path / "app")

    def stopped(self, commit):
        raise KeyboardInterrupt

    monkeypatch.setattr(Builds, "get", stopped)
    with pytest.raises(Interrupted, match="The same command goes on from here"):
        becalm.bisect(names[0], names[2], run="true", build="true")
