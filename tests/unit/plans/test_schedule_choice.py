"""The rules by which a study runs in turns or at once."""

import math

import pytest
from msgspec.structs import replace

from becalm.plans.schedule import BackToTurns, Schedule, ScheduleEvidence
from becalm.plans.schedule_choice import LEAST_GROUPS, ScheduleChoice

FIRST = ScheduleEvidence(0.001, 1, 0, math.inf, math.inf, math.nan, math.nan, math.nan, math.inf, False)
"""The evidence after a first round of a short program."""

KNOWN = ScheduleEvidence(
    fraction=0.15,
    turns=30,
    at_once=15,
    turns_error=0.02,
    at_once_error=0.005,
    slowdown=0.001,
    slowdown_error=0.001,
    change=0.001,
    change_error=0.003,
    apart=False,
)
"""The evidence after a pilot, where at once is better."""


def after(*evidence: ScheduleEvidence, schedule: Schedule = Schedule.AUTO) -> ScheduleChoice:
    choice = ScheduleChoice(schedule)
    for part in evidence:
        choice.take(part)
    return choice


def test_the_pilot_has_both_schedules_in_pairs_of_random_order() -> None:
    choice = after(FIRST)
    assert choice.next(None, 0.4) is Schedule.TURNS
    assert choice.next(None, 0.6) is Schedule.AT_ONCE
    for uniform in (0.1, 0.9):
        assert choice.next(Schedule.TURNS, uniform) is Schedule.AT_ONCE
        assert choice.next(Schedule.AT_ONCE, uniform) is Schedule.TURNS


@pytest.mark.parametrize(
    "unfinished", [{"fraction": 0.09}, {"at_once": LEAST_GROUPS - 1}, {"turns": 2 * LEAST_GROUPS - 1}]
)
def test_the_pilot_lasts_for_some_groups_and_a_tenth_of_the_budget(unfinished: dict[str, float]) -> None:
    assert after(FIRST, replace(KNOWN, **unfinished)).pilot
    assert not after(FIRST, KNOWN).pilot


def test_a_pilot_that_takes_longer_than_expected_ends_in_turns() -> None:
    """Its first round may have been left out, or programs be slower at once."""
    choice = after(replace(KNOWN, at_once=LEAST_GROUPS - 1, fraction=0.21))
    assert (choice.pilot, choice.better) == (False, Schedule.TURNS)
    choice.take(KNOWN)
    assert choice.better is Schedule.AT_ONCE


def test_one_group_of_ten_is_of_the_other_schedule() -> None:
    at_once, turns = after(FIRST, KNOWN), after(FIRST, replace(KNOWN, at_once_error=0.03))
    assert [at_once.next(None, uniform) for uniform in (0.05, 0.15)] == [Schedule.TURNS, Schedule.AT_ONCE]
    assert [turns.next(None, uniform) for uniform in (0.05, 0.15)] == [Schedule.AT_ONCE, Schedule.TURNS]


@pytest.mark.parametrize(
    "doubt", [{"at_once_error": 0.021}, {"change": 0.0061}, {"change": -0.0061}, {"change_error": 0.007}]
)
def test_at_once_is_left_while_it_is_in_doubt_and_comes_again(doubt: dict[str, float]) -> None:
    choice = after(FIRST, replace(KNOWN, **doubt))
    assert (choice.better, choice.back) == (Schedule.TURNS, None)
    choice.take(KNOWN)
    assert choice.better is Schedule.AT_ONCE


def test_a_slow_down_that_is_not_shown_is_a_doubt() -> None:
    choice = after(FIRST, replace(KNOWN, slowdown=0.011, slowdown_error=0.002))
    assert (choice.better, choice.back) == (Schedule.TURNS, None)


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        (replace(FIRST, fraction=0.012), BackToTurns.FEW),
        (replace(KNOWN, slowdown=0.013), BackToTurns.SLOWED),
        (replace(KNOWN, apart=True), BackToTurns.CHANGED),
    ],
)
def test_a_shown_reason_goes_back_to_turns_for_good(evidence: ScheduleEvidence, reason: BackToTurns) -> None:
    choice = after(evidence, KNOWN)
    assert choice.back is reason
    assert choice.settled
    assert {choice.next(None, uniform) for uniform in (0.05, 0.5, 0.95)} == {Schedule.TURNS}


def test_at_once_stays_whatever_is_seen() -> None:
    choice = after(FIRST, replace(KNOWN, slowdown=0.3, apart=True), schedule=Schedule.AT_ONCE)
    assert choice.back is None
    assert [choice.next(None, uniform) for uniform in (0.05, 0.15)] == [Schedule.TURNS, Schedule.AT_ONCE]


def test_turns_stay() -> None:
    choice = after(FIRST, KNOWN, schedule=Schedule.TURNS)
    assert choice.settled
    assert choice.next(None, 0.95) is Schedule.TURNS
