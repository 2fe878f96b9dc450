"""The cost of moves of a real program: known effects are found, nothing to gain is an answer, unknown is not zero."""

import json
import math
import random

import pytest

from becalm.migration.live_account import LiveAccounted, rounds_of
from becalm.report import forms
from becalm.wording.migrate_account import live_lines, live_sentence, share


def account(rounds=20, moved=0.0, waiting=0.0, misses=True, why="spot"):
    """Return rounds in which a move costs a share of the time, and one at a spot less than that; with noise of 0.2
    %."""
    drawn_ = random.Random(3)
    arms = [{}, {}, {}]
    for number in range(rounds):
        order = drawn_.sample(range(3), 3)
        for arm in range(3):
            share_ = (0.0, moved, moved - waiting)[arm]
            wall = 1e9 * math.exp(drawn_.gauss(0, 0.002)) * (1 + share_)
            arms[arm][number] = {
                "wall_ns": wall, "cpu_ns": 0.9 * wall, "references": 1000 + arm if misses else None,
                "misses": 100 if misses else None, "place": 3 * number + order[arm],
                "why": why if arm == 2 else "asked", "waited_ns": 5_000_000 if arm == 2 else 0,
            }  # fmt: skip
    return LiveAccounted("x", None, "rise", 5_000_000, 100_000_000, "things", rounds_of(arms))


def test_the_cost_of_a_move_and_the_gain_of_waiting_have_intervals():
    accounted = account(moved=0.05, waiting=0.03)
    for pair, truth in (("random", 0.05), ("spot", 0.02), ("waiting", 1.02 / 1.05 - 1)):
        for name in ("wall_ns", "cpu_ns"):
            effect = accounted.effect(pair, name)
            assert effect.low < truth < effect.high
            assert effect.high - effect.low < 0.01
            assert effect.rounds == 20
    assert accounted.effect("waiting", "misses").value == 0
    assert live_sentence(accounted).startswith("Waiting for sweet spots gains: the program's time changes by -2.")
    assert live_sentence(account(moved=0.02, waiting=-0.03)).startswith("Waiting for sweet spots loses")


def test_nothing_to_gain_is_an_answer_with_what_is_ruled_out():
    sentence = live_sentence(account(moved=0.02))
    assert sentence.startswith("Nothing to gain by waiting for sweet spots in 20 rounds: moves at random")
    assert sentence.endswith("% is ruled out.")
    assert "and no move was made at one" in live_sentence(account(why="hard_limit"))


def test_counts_that_are_not_known_and_too_few_rounds_say_nothing():
    accounted = account(misses=False)
    assert accounted.effect("random", "misses") is None
    assert "references" not in forms.as_markdown(accounted)
    assert "references more" in forms.as_markdown(account())
    few = account(rounds=5)
    assert few.effect("waiting", "wall_ns") is None
    assert "5 rounds say nothing about waiting" in live_sentence(few)
    assert share(None) == "not known"


def test_rounds_that_an_arm_lacks_are_left_out():
    row = {
        "wall_ns": 1, "cpu_ns": 1, "references": None, "misses": None, "place": 0, "why": "spot", "waited_ns": 0,
    }  # fmt: skip
    assert len(rounds_of([{0: row, 1: row}, {1: row, 2: row}, {1: row}])) == 1


@pytest.mark.parametrize("options", [{}, {"misses": False}, {"rounds": 5}])
def test_it_is_drawn_in_every_form_and_its_json_says_everything(options):
    accounted = account(**options)
    forms.draw_all(accounted)
    value = json.loads(forms.as_json(accounted))
    assert value["kind"] == "migration-account-live"
    assert len(value["rounds"]) == options.get("rounds", 20)
    assert set(value["effects"]) == {"wall_ns", "cpu_ns", "references", "misses"}
    text = " ".join(live_lines(accounted))
    many = options.get("rounds", 20)
    assert f"At random moments: {many} at the drawn moment. At sweet spots: {many} at a sweet spot." in text
