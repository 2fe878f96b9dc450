"""The bench of steady programs: what lies between the runs of a study and of a bare loop, and what it says of both."""

import pytest

import steady
from steady import between_of, judged


def test_between_is_what_is_no_run_and_where_it_is():
    columns = ["started_ns", "wall_ns", "settings"]
    runs = [[100, 50, 0], [190, 50, 0], [245, 100, 0], [357, 100, 1], [460, 100, 1]]
    record = between_of({"runs": {"columns": columns, "rows": runs}})
    assert record == pytest.approx({"all": 60 / 400, "start": 40 / 400, "rows": 8 / 400, "switches": 12 / 400})


def row(program, study, bare):
    return {"program": program, "between": {"all": study}, "bare": bare}


def test_a_search_adds_what_a_bare_loop_has_not():
    (met,) = judged([row("git", 0.0165, 0.008), row("lame", 0.006, 0.003)])
    assert met == (
        "a search adds to the time of its runs, beyond a bare loop of them: 0.85 % (git), 0.30 % (lame), "
        "wanted at most 1 %: met"
    )
    (missed,) = judged([row("git", 0.0165, 0.006), row("lame", 0.006, 0.003)])
    assert missed.endswith("wanted at most 1 %: not met")


def test_nothing_is_judged_where_there_was_no_bare_loop():
    assert judged([row("git", 0.0165, None)]) == []


def test_a_list_that_was_not_measured_has_a_line_that_says_why():
    interval = {"value": 0.02, "low": 0.01, "high": 0.04}
    tried = {
        "arms": [{"name": "baseline", "mean_ns": {"value": 5e7}, "spread": interval}],
        "comparisons": [],
        "findings": [
            {"kind": "tried", "numbers": {"name": "pyperf", "same_as": "becalm"}},
            {"kind": "tried", "numbers": {"name": "llvm-tips", "same_as": None}},
        ],
    }
    assert list(steady.rows({"program": "git", "first": "becalm", "tried": tried})) == [
        ["git (50 ms)", "untouched", "2 (1 to 4) %", "", ""],
        ["git (50 ms)", "pyperf", "the same settings as becalm", "", ""],
        ["git (50 ms)", "llvm-tips", "nothing that can be set here", "", ""],
    ]
