"""Sentences on programs that were measured at the same time."""

import pytest

from becalm.wording.schedule_findings import alongside, turns

NUMBERS = {
    "schedule": "at-once", "cpus": [0, 1], "at_once": 90, "turns": 40, "slowdowns": [0.0, 0.0], "slowdown_error": 0.001,
    "change": 0.0, "change_error": 0.001, "most_cpus": 1.0, "starts": 180, "near": 175,
}  # fmt: skip


@pytest.mark.parametrize(
    ("slowdowns", "words"),
    [
        ([0.0, 0.0], "neither was slowed by more than 0.2"),
        ([0.0, 0.0, 0.001], "none was slowed by more than 0.3"),
        ([0.07, 0.07], "each was slowed by 7"),
        ([0.07, 0.071, 0.07], "each was slowed by 7"),
        ([0.01, 0.07], "the first was slowed by 1.0 %, the second by 7"),
        ([-0.001, 0.07, 0.03], "they were slowed by 0.00 % to 7"),
        ([None, None], "too few runs in turns"),
    ],
)
def test_slowdowns_of_two_and_of_more_programs(slowdowns, words):
    assert f"on CPUs 0 and 1: {words}" in alongside("", {**NUMBERS, "slowdowns": slowdowns})


def test_a_bound_that_says_little_is_no_assurance():
    sentence = alongside("", {**NUMBERS, "slowdown_error": 0.3})
    assert "it is not known whether that slowed them; if so, by less than 60 %." in sentence


def test_starts_within_a_wake_up_are_counted():
    assert "175 of 180 pairs started within 20 µs." in alongside("", NUMBERS)
    assert "started" not in alongside("", {**NUMBERS, "starts": 0, "near": 0})


def test_few_rounds_in_turns_do_not_say_that_a_difference_changed():
    changed = {**NUMBERS, "change": 0.02}
    assert "Their difference is 2.0 % away from that in turns" in alongside("", changed)
    assert "A difference is up to 2.0 % away" in alongside("", {**changed, "slowdowns": [0.0, 0.0, 0.0]})
    assert "away" not in alongside("", {**changed, "turns": 11})


def test_turns_have_a_reason():
    assert turns("", {"reason": "wide"}) == "The programs took turns: one of them uses more than one CPU."
    assert turns("", {"reason": "there is one CPU"}) == "The programs took turns: there is one CPU."
