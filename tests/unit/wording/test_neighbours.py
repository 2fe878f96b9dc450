"""Reports of programs that were kept running next to others."""

import pytest

from becalm.wording.neighbours import trouble

WELL = {"restarts": 5, "failures": 0, "status": None, "short": 0, "cpu_ns": 1, "kept_ns": 10**9, "away_ns": 10**7}


@pytest.mark.parametrize(
    ("did", "words"),
    [
        ({"failures": 1, "status": 3}, "failed while it ran next to prog (exit code 3)"),
        ({"failures": 1, "status": -9}, "(signal 9)"),
        ({"failures": 1, "status": None}, "(it could not be started again)"),
        ({"short": 3}, "within a millisecond"),
        ({"away_ns": 5 * 10**8}, "did not run for 50 % of the time"),
    ],
)
def test_trouble_is_reported_once(did, words):
    (sentence,) = trouble("near", "prog", {**WELL, **did})
    assert words in sentence
    assert sentence.endswith(".")


def test_one_that_just_runs_is_not_spoken_of():
    assert list(trouble("near", "prog", WELL)) == []


def test_names_do_nothing_to_a_terminal():
    (sentence,) = trouble("\x1b[31mnear", "prog", {**WELL, "failures": 1, "status": 1})
    assert "\x1b" not in sentence
