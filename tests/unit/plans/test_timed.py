"""One program for a given time."""

import pytest
from tests.unit.plans.small import carried_out

from becalm.plans.history import History
from becalm.plans.timed import BLOCK_NS, WARMUPS, timed

MS = 1_000_000


@pytest.mark.parametrize("wall_ns", [7 * MS, 70 * MS, 7000 * MS])
def test_it_takes_the_time_that_it_has_in_blocks_of_half_a_second(wall_ns):
    budget_ns = 5000 * MS
    blocks, history = carried_out(lambda history: timed(history, budget_ns, 7 * MS), History(1), wall_ns=wall_ns)
    assert [step.round for step in blocks[0].steps] == list(range(-WARMUPS, 0))
    numbers = [step.round for block in blocks[1:] for step in block.steps]
    assert numbers == list(range(len(numbers)))
    assert all(1 <= len(block.steps) <= round(BLOCK_NS / (7 * MS)) for block in blocks[1:])
    assert history.elapsed_ns >= budget_ns
    last = len(blocks[-1].steps) * wall_ns
    assert history.elapsed_ns - last < budget_ns, "and ends with the block that uses it up"
