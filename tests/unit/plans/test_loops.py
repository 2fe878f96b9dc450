"""Loops of a survey: each program several times in a row."""

import itertools

import numpy as np
from tests.unit.plans.small import carried_out

from becalm.plans.history import History
from becalm.plans.loops import loops


def planned(seed=1, programs=3, count=4, runs=5, warmups=2):
    rng = np.random.default_rng(seed)
    return carried_out(lambda history: loops(history, count, runs, warmups, rng), History(programs))


def test_each_loop_has_each_program_in_a_row_and_each_run_a_round_of_its_own():
    blocks, history = planned()
    rounds = [[step.round for step in block.steps] for block in blocks]
    assert rounds[0] == [-2, -1] * 3
    assert rounds[1:] == [list(range(5 * loop, 5 * loop + 5)) * 3 for loop in range(4)]
    for block in blocks:
        programs = [program for program, _ in itertools.groupby(step.workload for step in block.steps)]
        assert sorted(programs) == [0, 1, 2], "one after the other"
    assert history.rounds == 20


def test_the_order_of_programs_is_random_and_repeats_with_the_seed():
    def order(seed):
        return [block.steps[0].workload for block in planned(seed, count=30)[0]]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert set(order(1)) == {0, 1, 2}


def test_without_warmups_it_still_comes_to_its_end():
    blocks, _ = planned(warmups=0, count=1)
    assert [len(block.steps) for block in blocks] == [15]
