"""`becalm bisect` where it ends without a commit: stopped while one is built, or with no change that was seen."""

import pytest
from tests.unit.study.repositories import repository

import becalm
from becalm.errors import Interrupted
from becalm.nouns.bisection import BisectResult, Probe
from becalm.report.bisectresult import tables
from becalm.study.builds import Builds


def test_stopped_while_a_commit_is_built_it_says_how_to_go_on(store, tmp_path, monkeypatch):
    names = repository(tmp_path / "app", 3)
    monkeypatch.chdir(tmp_path / "app")

    def stopped(self, commit):
        raise KeyboardInterrupt

    monkeypatch.setattr(Builds, "get", stopped)
    with pytest.raises(Interrupted, match="The same command goes on from here"):
        becalm.bisect(names[0], names[2], run="true", build="true")


def test_no_commit_is_behind_a_change_that_was_not_seen():
    given = {"good": "a", "bad": "b", "subject": "", "probability": 0.0, "error": 0.05, "size": 0.0, "low": -0.1,
             "high": 0.1, "commits": 3, "runs": 20, "builds": 2, "unusable": {}, "studies": (),
             "probes": (Probe("b", "subject", 0.0, -0.1, 0.1, 10, 1.0),)}  # fmt: skip
    assert next(tables(BisectResult(first="", suspects=(), **given))).head == (
        "commit",
        "against good",
        "pairs",
        "subject",
    )
    assert "behind" in next(tables(BisectResult(first="b", suspects=(), **given))).head
