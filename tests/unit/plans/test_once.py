"""A plan of one run."""

from tests.unit.plans.small import carried_out

from becalm.nouns.run import Step
from becalm.plans.once import once


def test_it_is_one_run_and_one_only():
    blocks, log = carried_out(once)
    assert [block.steps for block in blocks] == [(Step(0, 0, 0, 0),)]
    assert once(log) is None
