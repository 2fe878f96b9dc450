"""`becalm bisect` where it ends without a commit: stopped while one is built, or with no change that was seen."""

from becalm.nouns.bisection import BisectResult, Probe
from becalm.report.bisectresult import tables


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
