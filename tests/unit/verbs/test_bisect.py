"""`becalm bisect` where it ends without a commit, or with a merge: what it says and shows."""

import pytest

import becalm
from becalm.report.bisect import tables
from becalm.results.bisect import BisectResult, Probe
from becalm.wording import bisect as words


def test_no_commit_is_behind_a_change_that_was_not_seen():
    values = {"good": "a", "bad": "b", "subject": "", "merge": "", "pairs": 200, "probability": 0.0,
             "error": 0.05, "size": 0.0, "low": -0.1,
             "high": 0.1, "commits": 3, "runs": 20, "builds": 2, "unusable": {}, "studies": (),
             "probes": (Probe("b", "subject", 0.0, -0.1, 0.1, 10, 1.0),)}  # fmt: skip
    assert next(tables(BisectResult(first="", suspects=(), **values))).head == (
        "commit",
        "against good",
        "pairs",
        "subject",
    )
    assert "behind" in next(tables(BisectResult(first="b", suspects=(), **values))).head


def ended(**change):
    """Return a search that measured something; `change`: its fields that differ."""
    values = {"good": "a", "bad": "b", "first": "", "subject": "", "merge": "", "suspects": (), "probability": 0.0,
              "error": 0.05, "size": 0.17, "low": 0.05, "high": 0.29, "commits": 3, "pairs": 200, "runs": 20,
              "builds": 2, "probes": ()}  # fmt: skip
    return BisectResult(**(values | change))


def test_an_interval_without_zero_is_not_called_no_difference():
    sentence = words.result_lines(ended())
    assert sentence.startswith(
        "b is probably slower than a (+17 ± 12 %), but not surely enough to search for the commit"
    )
    assert sentence.endswith("--pairs 800.")
    assert words.result_lines(ended(low=-0.05)).startswith("No difference between b and a was seen: +17 ± 17 %")


def test_a_merge_is_named_as_one():
    assert "It is a merge: none of the commits that it brings in is slower by itself." in words.result_lines(
        ended(first="m", merge="m", probability=0.99)
    )
    sentence = words.result_lines(ended(suspects=("x", "y", "m"), merge="m", probability=0.99))
    assert "with the merge m or one of the 2 commits that it brings in (git log m^1..m)" in sentence


@pytest.mark.parametrize("option", ["budget", "fail_above", "tasks", "where"])
def test_options_of_a_comparison_are_not_those_of_a_bisection(option):
    with pytest.raises(becalm.UsageError, match=f"There is no option '{option}'"):
        becalm.bisect("a", "b", run="true", **{option: 1})
