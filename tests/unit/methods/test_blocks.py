"""Blocks of a search: the default in each, no failed arm again, never more than allowed."""

import numpy as np
import pytest

from becalm.methods.blocks import Blocks
from becalm.methods.protocol import NO_SETTINGS, Sample, TrialDesign
from becalm.nouns.settings import Settings

ONE, TWO, THREE = (Settings.of({"x": value}) for value in (1, 2, 3))


def arms_measured(blocks, arms, failed=()):
    """Ask, and answer with 1 s each."""
    course = blocks.ask(arms, "why", NO_SETTINGS)
    ask = next(course, None)
    if ask is None:
        return None
    try:
        course.send([Sample(arm, (np.array([1e9]),) * ask.loops, int(arm in failed)) for arm in ask.arms])
    except StopIteration:
        return ask.arms
    raise AssertionError


def test_the_default_is_in_each_block_once():
    blocks = Blocks(TrialDesign(loops=1, runs=1, warmups=0, objective="time"), None)
    assert arms_measured(blocks, [ONE, NO_SETTINGS, TWO, ONE]) == (NO_SETTINGS, ONE, TWO)
    assert (blocks.trials, blocks.runs) == (2, 3)


def test_failed_arms_are_not_tried_again():
    blocks = Blocks(TrialDesign(loops=1, runs=1, warmups=0, objective="time"), None)
    arms_measured(blocks, [ONE, TWO], failed=(ONE,))
    assert arms_measured(blocks, [ONE, THREE]) == (NO_SETTINGS, THREE)
    assert arms_measured(blocks, [ONE]) is None
    assert blocks.spent() == "3 trials, including 1 that failed (5 runs, including those of the default)"


def test_trials_and_runs_are_limited():
    blocks = Blocks(TrialDesign(loops=2, runs=2, warmups=1, objective="time", most_runs=20), 10)
    # A trial is 2 * 2 runs and two that are not counted: 6. So three arms with the default.
    assert blocks.room() == 2
    assert arms_measured(blocks, [ONE, TWO, THREE]) == (NO_SETTINGS, ONE, TWO)
    assert (blocks.runs, blocks.room()) == (18, 0)
    assert arms_measured(blocks, [THREE]) is None
    few = Blocks(TrialDesign(loops=1, runs=1, warmups=0, objective="time"), 2)
    arms_measured(few, [ONE, TWO, THREE])
    assert (few.trials, few.room()) == (2, 0)


def test_a_default_that_fails_is_known():
    blocks = Blocks(TrialDesign(loops=1, runs=1, warmups=0, objective="time"), None)
    assert not blocks.lost
    arms_measured(blocks, [ONE], failed=(NO_SETTINGS,))
    assert blocks.lost


def test_a_fifth_of_the_trials_is_left_to_the_final():
    blocks = Blocks(TrialDesign(loops=1, runs=1, warmups=0, objective="time"), 5)
    assert blocks.left == 4
    course = blocks.proceed(1, [ONE, TWO, THREE, ONE], "why")
    ask = next(course)
    assert ask.arms == (NO_SETTINGS, ONE, TWO, THREE)
    with pytest.raises(StopIteration):
        course.send([Sample(arm, (np.array([1e9 * (1 + (arm != TWO))]),)) for arm in ask.arms])
    assert (blocks.left, blocks.room()) == (1, 2)
    # The best again, and no more than there are trials for.
    assert next(blocks.proceed(1, [Settings.of({"x": 4})], "why")).arms == (NO_SETTINGS, TWO)


def test_how_it_ends_follows_from_the_default():
    blocks = Blocks(TrialDesign(loops=1, runs=1, warmups=0, objective="time"), None)
    arms_measured(blocks, [ONE])
    assert blocks.choice("some", "none").why == "none"
    arms_measured(blocks, [ONE], failed=(NO_SETTINGS,))
    assert blocks.left == 0
    assert blocks.choice("some", "none").why.startswith("The program failed on the machine as it is")
