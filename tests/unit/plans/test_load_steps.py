"""A designed experiment: which load is next to which run."""

import numpy as np
import pytest
from tests.unit.plans.small import carried_out

from becalm.nouns.demand import Demand
from becalm.plans.load_steps import LARGEST_BLOCK, load_steps

LOADS = [Demand(cpu=2), Demand(), Demand(network_rate=5e6), Demand(cpu=1)]
MS = 1_000_000


def planned(seed=1, **runs):
    rng = np.random.default_rng(seed)
    return carried_out(lambda log: load_steps(log, LOADS, rng), **runs)[0]


def test_warmups_are_alone_and_then_each_block_is_alongside_its_load():
    blocks = planned()
    assert [block.alongside for block in blocks] == [None, LOADS[0], None, LOADS[2], LOADS[3]]
    assert [[step.round for step in block.steps] for block in blocks] == [[-2, -1], [0], [1], [2], [3]]


@pytest.mark.parametrize(("each_ns", "repeat"), [(1 * MS, LARGEST_BLOCK), (100 * MS, 5), (10_000 * MS, 1)])
def test_short_programs_run_several_times_alongside_one_load(each_ns, repeat):
    """Half a second, by what the warm-ups took with what lies between them, but not for ever."""
    blocks = planned(wall_ns=each_ns * 9 // 10, gap_ns=each_ns // 10)
    assert {len(block.steps) for block in blocks[1:]} == {repeat}


def test_the_environment_is_random_and_repeats_with_the_seed():
    def paddings(seed):
        return [step.padding for block in planned(seed, wall_ns=MS) for step in block.steps]

    assert paddings(1) == paddings(1)
    assert len(set(paddings(1))) > 10
    assert paddings(1) != paddings(2)
