"""Rounds of a suite: everything once, in random order."""

import numpy as np
import pytest
from tests.unit.plans.small import carried_out

from becalm.plans.rounds import rounds
from becalm.plans.run_log import RunLog

CELLS = [(0, 0), (1, 1), (2, 0), (3, 1)]


def planned(count=5, warmed=(0, 2), seed=1, **runs):
    rng = np.random.default_rng(seed)
    return carried_out(lambda log: rounds(log, CELLS, warmed, count, rng), RunLog(goes_on=True), **runs)


def test_each_round_has_everything_once_with_its_settings():
    blocks, _ = planned()
    assert [block.steps[0].round for block in blocks] == [-1, 0, 1, 2, 3, 4]
    first, *counted = blocks
    assert sorted(step[:2] for step in first.steps) == [(0, 0), (2, 0)], "only those that warm up"
    for block in counted:
        assert sorted(step[:2] for step in block.steps) == CELLS
        assert len({step.round for step in block.steps}) == 1
        assert {step.padding for step in block.steps} == {0}


def test_the_order_is_random_and_repeats_with_the_seed():
    def order(seed):
        return [[step.workload for step in block.steps] for block in planned(seed=seed)[0]]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert len({tuple(index) for index in order(3)[1:]}) > 1


@pytest.mark.parametrize("warmed", [(), (1,)])
def test_without_anything_to_warm_up_it_begins_with_the_first_round(warmed):
    blocks, _ = planned(warmed=warmed)
    assert [block.steps[0].round for block in blocks] == [*([-1] if warmed else []), *range(5)]


def test_programs_that_fail_do_not_end_it():
    blocks, log = planned(outcome="failed")
    assert [block.steps[0].round for block in blocks] == [-1, 0, 1, 2, 3, 4]
    assert log.failure is None
